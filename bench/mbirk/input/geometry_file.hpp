// A scan and the parameters of its reconstruction as JSON, with MBIRJAX's names, and the parts shared with case.json.
// Reading is strict: an error is one line with the file, the field, what was expected and what was found.
//
//   {"geometry": "parallel" | "cone" | ...,
//    "angles": [...] | "file.npy" | {"start": 0, "stop": 3.14, "num": 180, "endpoint": false},
//        in radians; optional if the data contain theta
//    "helical_z_shifts": in the same forms, cone only, as all lists with one value per view,
//    "sinogram_shape": [views, rows, channels],  "recon_shape": [rows, cols, slices],   both optional
//    "params": {...}}
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "input/json_field.hpp"
#include "mbirk/geometry/list.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::program {

/// Names allowed in `params`: those of the scan and of reconstruction. A case for the projectors may also contain names
/// that only MBIRJAX uses.
enum class known_parameters { of_a_case, of_a_reconstruction };

/// Checks that every member is a known parameter of this geometry ("none": without a scan).
/// @throws io_error
void check_parameters(json_field const& params, std::string const& geometry, known_parameters known);

/// Reads pitches, offsets, voxels, mask and distances of a scan. File names are relative to `folder`.
/// @throws io_error
template <class Geometry>
void read_scan_parameters(json_field const& params, std::filesystem::path const& folder,
                          typename Geometry::parameters& p);

/// Names of the lists with one value per view, of any geometry. They are stored next to `params`.
std::vector<std::string> view_lists();
/// Reads those of a geometry. A required list may be missing if `p` has it already.
/// @param read     reads the values of a field.
/// @param missing  what was expected when there are no angles.
/// @throws io_error, also for a list of another geometry.
template <class Geometry>
void read_view_lists(json_field const& root, std::function<std::vector<float>(json_field const&)> const& read,
                     char const* missing, typename Geometry::parameters& p);

/// Reads the reconstruction parameters in `params`, with MBIRJAX's defaults. If auto_regularize_flag is false, no sigma
/// is derived from the data, and missing ones are 1, as in MBIRJAX. If it is true, all are derived from the data, and
/// given values, which were found for other data, are ignored.
/// @throws io_error
recon_model_options read_model_parameters(json_field const& params);

/// Reads the parameters of a denoiser in the same way, with its own defaults.
/// @throws io_error
denoise_options read_denoiser_parameters(json_field const& params);

/// Reads three integers >= 0.
/// @throws io_error
std::array<index_t, 3> read_shape(json_field const& field);
/// Reads the npy file named by the field: finite numbers of rank 1.
/// @throws io_error
std::vector<float> read_line_file(json_field const& field, std::filesystem::path const& folder);

/// Contents of G.json, ready for use.
struct geometry_file {
  parameters_variant parameters;
  scan_variant scan;
  recon_model_options model;          ///< read_model_parameters
  json mask = true;                   ///< use_ror_mask as JSON; a file by its full path
  std::vector<std::string> warnings;  ///< warnings of the scan
  std::optional<cone_parameters> fan = {};  ///< given if the scan is a fan beam, see mbirk/recon/fan.hpp
};

/// Reads and checks G.json for a sinogram of this shape.
/// @param theta  angles that came with the data (radians), used if the file has none; may be empty.
/// @throws io_error, parameter_error with the file and the field
geometry_file read_geometry(std::filesystem::path const& path, std::array<index_t, 3> const& sinogram_shape,
                            std::vector<float> const& theta = {});

/// Reads and checks the same from a document in memory. @param file  name for messages. @param folder  of named files.
geometry_file read_geometry(json const& document, std::string const& file, std::filesystem::path const& folder,
                            std::array<index_t, 3> const& sinogram_shape, std::vector<float> const& theta);

/// Writes everything that read_geometry reads as JSON; except for the sigmas, no value is left to a default or to
/// automatic sizing.
json geometry_json(geometry_file const& g);

}  // namespace mbirk::program
