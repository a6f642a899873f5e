// Records as JSON, and checkpoints that include the parameters of the reconstruction.
#pragma once

#include <filesystem>

#include "input/json_field.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::program {

/// The record as JSON with MBIRJAX's names. Non-finite numbers become null.
json record_json(recon_log const& record);

/// @param parameters  parameters of the reconstruction; read_checkpoint compares them.
/// @throws io_error; the file is either complete or absent
void write_checkpoint(std::filesystem::path const& path, recon_state const& state, json const& parameters);
/// @throws io_error with the file and the first parameter that differs
recon_state read_checkpoint(std::filesystem::path const& path, json const& parameters);

}  // namespace mbirk::program
