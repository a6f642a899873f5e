// Parallel beam: parameters (user input), geometry (kernel input), automatic sizing.
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "mbirk/geometry/mask.hpp"
#include "mbirk/geometry/parameter_rules.hpp"
#include "mbirk/geometry/views.hpp"

namespace mbirk {

/// Parameters with the names and defaults of MBIRJAX. Lengths in one arbitrary unit, angles in radians. Empty optionals
/// are sized automatically.
struct parallel_parameters {
  std::array<index_t, 3> sinogram_shape{};  ///< (views, rows, channels)
  std::vector<float> angles;                ///< one per view
  double delta_det_channel = 1, delta_det_row = 1;
  double det_channel_offset = 0, det_row_offset = 0;  ///< the row offset has no effect in parallel beam
  std::optional<double> delta_voxel = {};
  double voxel_row_aspect = 1, voxel_slice_aspect = 1;
  std::optional<std::array<index_t, 3>> recon_shape = {};  ///< (rows, cols, slices); slices == detector rows
  mask_setting use_ror_mask = true;
};

/// The direct_method of a geometry without direct reconstruction.
inline constexpr char const* no_direct_method = "";

namespace detail {

/// Angles of views equally spaced over a part of a turn, beginning with 0.
inline std::vector<float> equally_spaced_angles(index_t views, double part_of_a_turn) {
  std::vector<float> angles;
  for (index_t v = 0; v < views; ++v)
    angles.push_back(static_cast<float>(part_of_a_turn * 2 * std::numbers::pi * static_cast<double>(v) /
                                        static_cast<double>(views)));
  return angles;
}

}  // namespace detail

/// Projector geometry: trivially copyable; make_geometry validates it. The first members say all that the operations
/// need to know about parallel beam (docs/adding_a_geometry.md).
struct parallel_geometry {
  static constexpr char const* name = "parallel";
  static constexpr char const* beam = "parallel beam";      ///< in messages
  static constexpr char const* direct_method = "fbp";       ///< usual name of its direct reconstruction, or none
  static constexpr bool weighs_rays = false;                ///< whether the ramp filter weighs rays
  static constexpr bool has_slice_damping = false;          ///< whether VCD can damp slices
  static constexpr bool expects_truncation = false;         ///< whether views see a part of the object by design
  static constexpr double inverse_magnification = 1;        ///< pitch of the detector on the axis / its pitch
  using parameters = parallel_parameters;
  using view_lists = gantry_views;
  using position = view_position;

  /// Calls row(name, rule, member, doc, required) for the parameters of the scan, after sinogram_shape and before those
  /// of the detector, which all geometries share.
  template <class Parameters, class Row> static void each_scan_parameter(Parameters& p, Row const& row) {
    row("angles", detail::rules::numbers, p.angles, "angle of each view in radians, stored as float32", true);
  }
  /// Calls row() for the parameters of the voxels that follow those that all geometries share.
  template <class Parameters, class Row> static void each_voxel_parameter(Parameters&, Row const&) {}
  static double magnification(parallel_parameters const&) { return 1; }
  /// A scan over half a turn, for profiles and benchmarks.
  static parallel_parameters typical_scan(std::array<index_t, 3> const& sinogram_shape) {
    return {.sinogram_shape = sinogram_shape,
            .angles = detail::equally_spaced_angles(sinogram_shape[0], 0.5)};
  }

  index_t views, rows, channels;             // sinogram
  index_t recon_rows, recon_cols, slices;    // reconstruction
  double delta_det_channel, det_channel_offset;
  double delta_x, delta_y;                   // column pitch, row pitch
};

/// Size of the reconstruction that the detector covers.
struct automatic_size {
  double delta_voxel = 0;
  std::array<index_t, 3> recon_shape{};
  double recon_slice_offset = 0;
  double voxel_row_aspect = 1;  ///< of geometries that size it
};

namespace detail {

/// Converts a whole number to a count. NaN and values beyond any memory become 2^40, which the size checks reject.
inline index_t to_count(double x) {
  return x >= 0 && x < 0x1p40 ? static_cast<index_t>(x) : x < 0 ? 0 : index_t{1} << 40;
}
inline index_t ceil_f32(double x) { return to_count(std::ceil(static_cast<float>(x))); }
inline index_t rint_f32(double x) { return to_count(std::nearbyint(static_cast<float>(x))); }

inline void require_positive(double x, char const* name) {
  require(x > 0 && std::isfinite(x), [&] {
    return detail::message(name, " is ", x, ", expected a positive number");
  });
}

/// An empty optional is sized automatically.
inline void require_positive(std::optional<double> const& x, char const* name) {
  if (x) require_positive(*x, name);
}

/// Checks shared by all geometries.
template <class Parameters> void require_common(Parameters const& p) {
  for (auto const n : p.sinogram_shape)
    require(n >= 0, [&] {
      return "sinogram_shape is " + shape_text(p.sinogram_shape) + ", expected three sizes >= 0";
    });
  if constexpr (requires { p.angles; }) {
    require(static_cast<index_t>(p.angles.size()) == p.sinogram_shape[0], [&] {
      return detail::message("angles has ", p.angles.size(), " values, expected one per view = ", p.sinogram_shape[0]);
    });
    for (auto const a : p.angles) require_finite(a, "angles: a value");
  }
  require_positive(p.delta_det_channel, "delta_det_channel");
  require_positive(p.delta_det_row, "delta_det_row");
  require_finite(p.det_channel_offset, "det_channel_offset");
  require_finite(p.det_row_offset, "det_row_offset");
  require_positive(p.voxel_row_aspect, "voxel_row_aspect");
  require_positive(p.voxel_slice_aspect, "voxel_slice_aspect");
  require_positive(p.delta_voxel, "delta_voxel");
  if (p.recon_shape)
    for (auto const n : *p.recon_shape)
      require(n >= 0, [&] { return "recon_shape is " + shape_text(*p.recon_shape) + ", expected three sizes >= 0"; });
}

/// Bounds on lengths, of which weights and their squares in float32 are products.
inline constexpr double min_length = 1e-12, max_length = 1e12;
/// Bound on positions and on ratios of pitches, in cells: 2^28. Kernels keep positions in fixed point, with 32 bits
/// before the point.
inline constexpr double max_cells = 268435456;

inline void require_length(double x, char const* name) {
  require(x >= min_length && x <= max_length, [&] {
    return std::string(name) + " is " + number_text(x) + ", expected a length from " + number_text(min_length) +
           " to " + number_text(max_length);
  });
}
/// Checks a length, and that it is not many times larger or smaller than a pitch of the detector.
inline void require_pitch(double x, char const* name, double of_detector, char const* detector_name) {
  require_length(x, name);
  double const ratio = x / of_detector;
  require(ratio <= max_cells && ratio * max_cells >= 1, [&] {
    return std::string(name) + " is " + number_text(x) + ", expected at most 2^28 times more or less than " +
           detector_name + " = " + number_text(of_detector);
  });
}
inline void require_position(double x, char const* name, double pitch, char const* pitch_name) {
  require(std::abs(x) <= max_cells * pitch, [&] {
    return std::string(name) + " is " + number_text(x) + ", expected at most 2^28 times " + pitch_name + " = " +
           number_text(pitch) + " in size";
  });
}

/// Pixel indices are 32 bits; detector and slice counts are used in 32-bit vector arithmetic.
inline void require_addressable(std::array<index_t, 3> const& sinogram, std::array<index_t, 3> const& recon) {
  constexpr index_t limit = index_t{1} << 30;
  require(recon[0] < limit && recon[1] < limit && recon[0] * recon[1] <= limit && recon[2] <= limit &&
          sinogram[1] <= limit &&
              sinogram[2] <= limit, [&] {
    return "sinogram " + shape_text(sinogram) + " and recon " + shape_text(recon) +
           ": pixels, slices, detector rows and channels must each be at most 2^30";
  });
}

}  // namespace detail

/// Length of the object along a ray that automatic regularisation assumes: the smaller of the harmonic mean of the
/// grid's sides, in columns, and the width that the detector sees on the axis.
template <class Geometry> double object_length(Geometry const& g) {
  double const rows = static_cast<double>(g.recon_rows), cols = static_cast<double>(g.recon_cols);
  return std::min(2 * rows * cols / (rows + cols) * g.delta_x,
                  static_cast<double>(g.channels) * (g.delta_det_channel * g.inverse_magnification));
}

/// The geometry as one view sees it. A geometry that derives from this one may have another detector in each view.
inline parallel_geometry const& geometry_of_view(parallel_geometry const& g, view_position const&) { return g; }

inline gantry_views make_views(parallel_parameters const& p) { return {p.angles}; }

/// Checks the views that replace those of a scan.
inline void require_views(parallel_geometry const& g, gantry_views const& v) {
  require(v.z_shifts.empty(), [&] {
    return detail::message("set_views: ", v.z_shifts.size(), " z shifts, expected none in parallel beam");
  });
  detail::require_views(v, g.views);
}
/// Warnings about valid but suspicious parameters.
inline std::vector<std::string> scan_warnings(parallel_parameters const&) { return {}; }

/// delta = delta_det_channel; rows = ceil(C delta_c / (a_r delta)), cols = C, slices = rint(R delta_r / delta). The
/// quotients are rounded to float32 first, as in MBIRJAX, so that 13.000000000000002 is 13.
MBIRK_COLD inline automatic_size auto_size(parallel_parameters const& p) {
  double const delta = p.delta_det_channel, channels = static_cast<double>(p.sinogram_shape[2]);
  return {delta,
          {detail::ceil_f32(channels * p.delta_det_channel / (p.voxel_row_aspect * delta)),
           detail::ceil_f32(channels * p.delta_det_channel / delta),
           detail::rint_f32(static_cast<double>(p.sinogram_shape[1]) * (p.delta_det_row / delta))},
          0};
}

/// @throws parameter_error with the name of the parameter, its value and the expected value.
MBIRK_COLD inline parallel_geometry make_geometry(parallel_parameters const& p) {
  detail::require_common(p);
  require(p.voxel_slice_aspect == 1, [&] {
    return detail::message("voxel_slice_aspect is ", p.voxel_slice_aspect, ", expected 1 in parallel beam");
  });
  auto const automatic = auto_size(p);
  double const delta = p.delta_voxel.value_or(automatic.delta_voxel);
  auto const recon = p.recon_shape.value_or(automatic.recon_shape);
  require(recon[2] == p.sinogram_shape[1], [&] {
    return detail::message("recon_shape ", detail::shape_text(recon), " has ", recon[2],
                           " slices, expected the number of detector rows = ", p.sinogram_shape[1],
                           " in parallel beam");
  });
  detail::require_addressable(p.sinogram_shape, recon);
  detail::require_length(p.delta_det_channel, "delta_det_channel");
  detail::require_pitch(delta, "delta_voxel", p.delta_det_channel, "delta_det_channel");
  detail::require_pitch(p.voxel_row_aspect * delta, "voxel_row_aspect times delta_voxel", p.delta_det_channel,
                        "delta_det_channel");
  detail::require_position(p.det_channel_offset, "det_channel_offset", p.delta_det_channel, "delta_det_channel");
  return {.views = p.sinogram_shape[0], .rows = p.sinogram_shape[1], .channels = p.sinogram_shape[2],
          .recon_rows = recon[0], .recon_cols = recon[1], .slices = recon[2],
          .delta_det_channel = p.delta_det_channel, .det_channel_offset = p.det_channel_offset,
          .delta_x = delta, .delta_y = p.voxel_row_aspect * delta};
}

}  // namespace mbirk
