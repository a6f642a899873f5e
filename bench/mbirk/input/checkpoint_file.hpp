// Records as JSON, and checkpoints that know what the reconstruction was started with.
#pragma once

#include <filesystem>

#include "input/json_field.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::program {

/// The record as JSON with MBIRJAX's names. Numbers that are not finite become null.
json record_json(recon_log const& record);

/// @param parameters  what the reconstruction was started with; read_checkpoint compares.
/// @throws io_error; the file appears when it is complete, or not at all
void write_checkpoint(std::filesystem::path const& path, recon_state const& state, json const& parameters);
/// @throws io_error naming the file, and the first parameter that differs
recon_state read_checkpoint(std::filesystem::path const& path, json const& parameters);

}  // namespace mbirk::program
