// index.html of an output folder: what lies in it, and what opens it.
#pragma once

#include <filesystem>

namespace mbirk::program {

/// Writes <folder>/index.html about all runs in the folder. The newest run is first.
/// @throws io_error
void write_index(std::filesystem::path const& folder);

}  // namespace mbirk::program
