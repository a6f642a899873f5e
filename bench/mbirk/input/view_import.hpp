// The views of general geometry in G.json as RTK and TIGRE describe them, in place of vectors:
//
//   {"rtk": "geometry.xml", "spacing": [x, y], "origin": [x, y]}
//       of the projections, in the unit of the file; without an origin, the middle of the projections has (0, 0)
//   {"tigre": {"DSD": 1000, "DSO": 500, "dDetector": [v, u], "angles": [...] | [[3 angles], ...] | "file.npy",
//              "offDetector": [v, u], "offOrigin": [z, y, x], "rotDetector": [roll, pitch, yaw], "COR": 0,
//              "mode": "cone" | "parallel"}}
//       offsets and rotations also as one array per view; the last five are optional
#pragma once

#include <array>
#include <filesystem>
#include <vector>

#include "input/json_field.hpp"
#include "mbirk/geometry/import_views.hpp"

namespace mbirk::program {

/// Reads such views for a sinogram of this shape. File names are relative to `folder`.
/// @throws io_error; shape_error for another number of views
imported_views read_imported_views(json_field const& field, std::filesystem::path const& folder,
                                   std::array<index_t, 3> const& sinogram_shape);

/// The files that they name.
std::vector<std::filesystem::path> files_of_imported_views(json_field const& field,
                                                           std::filesystem::path const& folder);

}  // namespace mbirk::program
