// A scan and the parameters of its reconstruction as JSON, with MBIRJAX's names, and the parts shared with case.json.
// Reading is strict: an error is one line with the file, the field, what was expected and what was found.
//
//   {"geometry": "parallel" | "cone" | ...,
//    "angles": [...] | "file.npy" | {"start": 0, "stop": 3.14, "num": 180, "endpoint": false},
//        in radians; optional if the data contain theta
//    "helical_z_shifts": in the same forms, cone only, as all lists with one value per view,
//    "translation_vectors": [[x, y, z], ...] | "file.npy", "view_vectors": [[12 numbers], ...] | "file.npy",
//        as all lists with several values per view; view_vectors also in the forms of view_import.hpp,
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
#include "machine/memory.hpp"
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
/// @throws io_error; allocation_error if a mask exceeds `memory`
template <class Geometry>
void read_scan_parameters(json_field const& params, std::filesystem::path const& folder,
                          typename Geometry::parameters& p, memory_budget const& memory = {});

/// Names of the lists with one entry per view, of any geometry. They are stored next to `params`.
std::vector<std::string> view_lists();
/// Reads the values of a field with `per_view` numbers for each view, into lists of float32 and of doubles.
class view_list_reader {
  template <class T> using reader = std::function<void(json_field const&, index_t, std::vector<T>&)>;

 public:
  template <class F> explicit view_list_reader(F const& read) : floats_(read), doubles_(read) {}
  void into(std::vector<float>& list, json_field const& field, index_t per_view) const {
    floats_(field, per_view, list);
  }
  void into(std::vector<double>& list, json_field const& field, index_t per_view) const {
    doubles_(field, per_view, list);
  }

 private:
  reader<float> floats_;
  reader<double> doubles_;
};
/// Reads those of a geometry. A required list may be missing if `p` has it already.
/// @param missing  what was expected when there are no angles.
/// @throws io_error, also for a list of another geometry.
template <class Geometry>
void read_view_lists(json_field const& root, view_list_reader const& read, char const* missing,
                     typename Geometry::parameters& p);

/// Reads the reconstruction parameters in `params`, with MBIRJAX's defaults for the geometry of this name. If
/// auto_regularize_flag is false, no sigma is derived from the data, and missing ones are 1, as in MBIRJAX. If it is
/// true, all are derived from the data, and given values, which were found for other data, are ignored.
/// @throws io_error
recon_model_options read_model_parameters(json_field const& params, std::string const& geometry);

/// Reads the parameters of a denoiser in the same way, with its own defaults.
/// @throws io_error
denoise_options read_denoiser_parameters(json_field const& params);

/// Reads three integers >= 0.
/// @throws io_error
std::array<index_t, 3> read_shape(json_field const& field);
/// Checks that a field has one value per view, before the values are read or made. views < 0: not checked.
/// @throws shape_error
void require_one_per_view(json_field const& field, index_t values, index_t views);
/// Reads the npy file named by the field: finite numbers, one per view, or vectors (views, per_view).
/// @throws io_error; shape_error for another number of values, before they are read
template <class T>
std::vector<T> read_line_file(json_field const& field, std::filesystem::path const& folder, index_t views,
                              index_t per_view);
extern template std::vector<float> read_line_file(json_field const&, std::filesystem::path const&, index_t, index_t);
extern template std::vector<double> read_line_file(json_field const&, std::filesystem::path const&, index_t, index_t);

/// Makes a scan if its mask and list of pixels fit into memory.
/// @param check_shape  called with the shape of the reconstruction before; what it throws is passed on.
/// @throws parameter_error, allocation_error
template <class Geometry>
scan<Geometry> make_scan(typename Geometry::parameters const& p, std::string const& name, memory_budget const& memory,
                         std::function<void(std::array<index_t, 3> const&)> const& check_shape = {}) {
  auto const g = make_geometry(p);
  std::array<index_t, 3> const shape{g.recon_rows, g.recon_cols, g.slices};
  if (check_shape) check_shape(shape);
  // The mask takes a byte per pixel, and its list, while it grows, up to eight.
  memory.require(9 * static_cast<double>(shape[0]) * static_cast<double>(shape[1]),
                 name + ": the mask of a reconstruction of shape " + mbirk::detail::shape_text(shape));
  return scan<Geometry>(p);
}

/// Contents of G.json, ready for use.
struct geometry_file {
  parameters_variant parameters;
  scan_variant scan;
  recon_model_options model;          ///< read_model_parameters
  json mask = true;                   ///< use_ror_mask as JSON; a file by its full path
  std::vector<std::string> warnings;  ///< warnings of the scan
  std::optional<cone_parameters> fan = {};  ///< given if the scan is a fan beam, see mbirk/recon/fan.hpp
  std::vector<std::filesystem::path> files = {};  ///< those that G.json names
};

/// The files that G.json or case.json names for its scan: lists with one value per view, and the mask.
std::vector<std::filesystem::path> files_of_scan(json_field const& root, std::filesystem::path const& folder);

/// Reads and checks G.json for a sinogram of this shape.
/// @param theta        angles that came with the data (radians), used if the file has none; may be empty.
/// @param memory       limits what is read.
/// @param check_shape  called with the shape of the reconstruction before memory is taken for its mask; what it throws
///                     is passed on.
/// @throws io_error, parameter_error with the file and the field, allocation_error
geometry_file read_geometry(std::filesystem::path const& path, std::array<index_t, 3> const& sinogram_shape,
                            std::vector<float> const& theta = {}, memory_budget const& memory = {},
                            std::function<void(std::array<index_t, 3> const&)> const& check_shape = {});

/// Reads and checks the same from a document in memory. @param file  name for messages. @param folder  of named files.
geometry_file read_geometry(json const& document, std::string const& file, std::filesystem::path const& folder,
                            std::array<index_t, 3> const& sinogram_shape, std::vector<float> const& theta,
                            memory_budget const& memory = {},
                            std::function<void(std::array<index_t, 3> const&)> const& check_shape = {});

/// Writes everything that read_geometry reads as JSON; except for the sigmas, no value is left to a default or to
/// automatic sizing.
json geometry_json(geometry_file const& g);

}  // namespace mbirk::program
