// The options of a reconstruction from the user's own measurements, for the programs that run one.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "commands/recon_files.hpp"
#include "operations/recon_run.hpp"

namespace mbirk::program {

/// Adds all options of `mbirk recon`. @param on_devices  whether the program can reconstruct on devices
std::shared_ptr<recon_command> add_recon_options(CLI::App& command, bool on_devices);
/// Records which options the command line has, once it is parsed.
void note_given_options(CLI::App const& command, recon_command& o);

/// MBIRJAX's method names imply a geometry. @throws io_error
void check_method(recon_command const& o, recon_scan const& scan);
/// An option that changes nothing would be believed to have done so. @throws io_error
void check_ignored(recon_command const& o);
/// The parameters of the file, overridden by the command line.
recon_model_options merged(recon_model_options options, recon_command const& o);

}  // namespace mbirk::program
