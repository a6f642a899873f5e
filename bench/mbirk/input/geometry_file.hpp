// A scan and the parameters of its reconstruction as JSON, with MBIRJAX's names; and what case.json shares with it. Strict: a complaint is one line
// with file, field, what was expected and what was found.
//
//   {"geometry": "parallel" | "cone",
//    "angles": [...] | "file.npy" | {"start": 0, "stop": 3.14, "num": 180, "endpoint": false},   radians; may be left out when the data have theta
//    "helical_z_shifts": the same forms, cone only,
//    "sinogram_shape": [views, rows, channels],  "recon_shape": [rows, cols, slices],            both may be left out
//    "params": {...}}
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "input/json_field.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::program {

/// Which names `params` may hold: of the scan, and of reconstruction. A case for the projectors may hold what only MBIRJAX knows.
enum class known_parameters { of_a_case, of_a_reconstruction };

/// Every member must be a known parameter of this geometry, with a value of its kind. @throws io_error
void check_parameters(json_field const& params, std::string const& geometry, known_parameters known);

/// Pitches, offsets, voxels, mask and distances. Files are relative to `folder`. @throws io_error
void read_scan_parameters(json_field const& params, std::filesystem::path const& folder, parallel_parameters& p);
void read_scan_parameters(json_field const& params, std::filesystem::path const& folder, cone_parameters& p);

/// The parameters of reconstruction among `params`: MBIRJAX's defaults where nothing is given. auto_regularize_flag false means that no sigma comes
/// from the data: those not given are 1, as in MBIRJAX; true, that all do: those given are what was found for other data. @throws io_error
recon_options read_model_parameters(json_field const& params);

/// Those of a denoiser, in the same way, with its defaults. @throws io_error
denoise_options read_denoiser_parameters(json_field const& params);

/// Three whole numbers >= 0. @throws io_error
std::array<index_t, 3> read_shape(json_field const& field);
/// The numbers of an npy file that the field names: finite, of rank 1. @throws io_error
std::vector<float> read_line_file(json_field const& field, std::filesystem::path const& folder);

/// What G.json says, ready to be used.
struct geometry_file {
  std::variant<parallel_parameters, cone_parameters> parameters;
  std::variant<parallel_scan, cone_scan> scan;
  recon_options model;                ///< read_model_parameters
  json mask = true;                   ///< use_ror_mask as JSON; a file by its whole name
  std::vector<std::string> warnings;  ///< the scan's
};

/// Reads and checks G.json for a sinogram of this shape.
/// @param theta  angles that came with the data (radians), used when the file gives none; may be empty.
/// @throws io_error, parameter_error naming the file and the field
geometry_file read_geometry(std::filesystem::path const& path, std::array<index_t, 3> const& sinogram_shape, std::vector<float> const& theta = {});

/// Everything as JSON that read_geometry reads: no value is left to a default or to automatic sizing, except the sigmas.
json geometry_json(geometry_file const& g);

}  // namespace mbirk::program
