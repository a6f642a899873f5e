// Volumes in the formats of other programs.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "mbirk/core/view.hpp"
#include "mbirk/io/volume_files.hpp"

namespace mbirk::program {

/// Whether write_volume_file writes a file of this name: .nrrd, .mrc, .tif, .tiff.
bool is_volume_file(std::string const& name);
/// Checks that this program can. @throws io_error for .tif without libtiff
void require_volume_file(std::string const& name);
/// @param window  for TIFF: values that are 0 and 65535; without, float32.
/// @throws io_error
void write_volume_file(std::string const& name, view<float const, 3> volume, voxel_grid const& grid,
                       std::optional<std::array<double, 2>> const& window);

}  // namespace mbirk::program
