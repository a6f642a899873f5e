// The output folder of `mbirk profile`.
#pragma once

#include <filesystem>
#include <string>

#include "commands/profile_options.hpp"

namespace mbirk::program {

/// The local time in milliseconds, which names the files of a run.
std::string timestamp();
/// Makes a folder unless it exists.
/// @throws io_error
std::filesystem::path made_folder(std::string const& name);
/// Returns the name of the result, once no output is an input, and removes what killed runs have left beside it.
/// @throws error in one line
std::filesystem::path checked_result(std::filesystem::path const& result, profile_options const& options);

}  // namespace mbirk::program
