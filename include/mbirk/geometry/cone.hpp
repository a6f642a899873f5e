// Cone beam, circular and helical, flat and curved detector: parameters, geometry, automatic sizing.
#pragma once

#include <limits>
#include <utility>

#include "mbirk/geometry/parallel.hpp"

namespace mbirk {

/// Parameters with the names and defaults of MBIRJAX. Lengths in one arbitrary unit, angles in radians. Empty optionals
/// are sized automatically.
struct cone_parameters {
  std::array<index_t, 3> sinogram_shape{};  ///< (views, rows, channels)
  std::vector<float> angles;                ///< one per view
  double source_detector_dist = 0;          ///< may be infinite (flat detector only): parallel beam with rows
  double source_iso_dist = 0;
  std::vector<float> helical_z_shifts = {};    ///< one per view, or empty for a circular scan
  bool use_curved_detector = false;         ///< cylinder of radius source_detector_dist around the source
  double delta_det_channel = 1, delta_det_row = 1;
  double det_channel_offset = 0, det_row_offset = 0;
  std::optional<double> delta_voxel = {};
  double voxel_row_aspect = 1, voxel_slice_aspect = 1;
  std::optional<std::array<index_t, 3>> recon_shape = {};  ///< (rows, cols, slices)
  std::optional<double> recon_slice_offset = {};
  std::vector<double> axial_pad_fraction = {0.0};  ///< one number, or (low slices, high slices); automatic sizing only
  mask_setting use_ror_mask = true;
};

namespace detail {

inline double magnification(cone_parameters const& p) {
  return std::isinf(p.source_detector_dist) ? 1.0 : p.source_detector_dist / p.source_iso_dist;
}

}  // namespace detail

/// Projector geometry: trivially copyable; make_geometry validates it. The first members are those that
/// parallel_geometry documents.
struct cone_geometry {
  static constexpr char const* name = "cone";
  static constexpr char const* beam = "cone beam";
  static constexpr char const* direct_method = "fdk";
  static constexpr bool weighs_rays = true;
  static constexpr bool has_slice_damping = true;
  static constexpr bool expects_truncation = false;
  using parameters = cone_parameters;
  using view_lists = gantry_views;
  using position = view_position;

  template <class Parameters, class Row> static void each_scan_parameter(Parameters& p, Row const& row) {
    using namespace detail::rules;
    row("angles", numbers, p.angles, "angle of each view in radians, stored as float32", true);
    row("source_detector_dist", distance, p.source_detector_dist,
        "from the source to the detector; infinite: all rays are parallel", true);
    row("source_iso_dist", finite_number, p.source_iso_dist,
        "from the source to the axis of rotation; not used if source_detector_dist is infinite", true);
    row("helical_z_shifts", numbers, p.helical_z_shifts,
        "shift of each view along the axis, stored as float32; empty for a circular scan", false);
    row("use_curved_detector", flag, p.use_curved_detector, "true: the detector is a cylinder around the source",
        false);
  }
  template <class Parameters, class Row> static void each_voxel_parameter(Parameters& p, Row const& row) {
    using namespace detail::rules;
    row("recon_slice_offset", finite_number, p.recon_slice_offset,
        "> 0: the grid lies at higher z; sized automatically when the model is made", false);
    row("axial_pad_fraction", fractions, p.axial_pad_fraction,
        "fraction of the slices that the cone sees beyond the detector to add at the (low, high) end; automatic "
        "sizing only", false);
  }
  static double magnification(cone_parameters const& p) { return detail::magnification(p); }
  /// A circular scan over a full turn with a magnification of 2, for profiles and benchmarks.
  static cone_parameters typical_scan(std::array<index_t, 3> const& sinogram_shape) {
    double const width = static_cast<double>(sinogram_shape[2]);
    return {.sinogram_shape = sinogram_shape,
            .angles = detail::equally_spaced_angles(sinogram_shape[0], 1),
            .source_detector_dist = 4 * width,
            .source_iso_dist = 2 * width};
  }

  index_t views, rows, channels;             // sinogram
  index_t recon_rows, recon_cols, slices;    // reconstruction
  double delta_det_channel, delta_det_row, det_channel_offset, det_row_offset;
  double delta_x, delta_y, delta_z;          // column pitch, row pitch, slice pitch
  double side_extent;                        // extent of a pixel's side in its footprint: delta_y; 0: never wider
  double recon_slice_offset;
  double inverse_magnification;              // D_0 / D; 1 when D is infinite
  double inverse_detector_dist;              // 1 / D; 0 when D is infinite
  bool curved;
};

namespace detail {

inline void require_pads(std::vector<double> const& fractions) {
  require(fractions.size() == 1 || fractions.size() == 2,
          [&] {
            return detail::message("axial_pad_fraction has ", fractions.size(), " values, expected one or two");
          });
  for (auto const f : fractions)
    require(f >= 0 && std::isfinite(f), [&] {
      return detail::message("axial_pad_fraction is ", f, ", expected numbers >= 0");
    });
}

inline void require_positive_distances(cone_parameters const& p) {
  require(p.source_detector_dist > 0, [&] {
    return message("source_detector_dist is ", p.source_detector_dist, ", expected a positive number or infinity");
  });
  if (!std::isinf(p.source_detector_dist)) require_positive(p.source_iso_dist, "source_iso_dist");
}

/// Distances may be much larger than other lengths, for a beam that is almost parallel. Where the magnification exceeds
/// 1e9, footprints treat a pixel as behind the source.
inline void require_distances(double detector, double iso) {
  for (auto const& [x, name] : {std::pair{detector, "source_detector_dist"}, std::pair{iso, "source_iso_dist"}})
    require(x >= min_length && x <= max_length * max_length, [&] {
      return std::string(name) + " is " + number_text(x) + ", expected from " + number_text(min_length) + " to " +
             number_text(max_length * max_length);
    });
  double const magnification = detector / iso;
  require(magnification >= 1e-9 && magnification <= 1e9, [&] {
    return "source_detector_dist is " + number_text(detector) + ", expected at most 1e9 times more or less than " +
           "source_iso_dist = " + number_text(iso);
  });
}

/// Half the width of the region that automatic sizing must cover: the ellipse if the mask is on, else the whole grid.
inline double support_radius(mask_setting const& mask, double height, double width) {
  auto const* flag = std::get_if<bool>(&mask);
  return flag && *flag ? std::max(height, width) / 2 : std::hypot(height / 2, width / 2);
}

/// Warns of cone angles above 45 degrees.
template <class Parameters> std::vector<std::string> steepness_warnings(Parameters const& p) {
  double const reach = static_cast<double>(p.sinogram_shape[1]) * p.delta_det_row / 2 + std::abs(p.det_row_offset);
  if (!(reach > p.source_detector_dist)) return {};
  return {"half the detector height plus |det_row_offset| is " + number_text(reach) +
          ", more than source_detector_dist = " + number_text(p.source_detector_dist) +
          ": the cone angle exceeds 45 degrees and the vertical footprint is not valid there"};
}

/// The grid of a reconstruction.
struct cone_grid {
  std::array<index_t, 3> shape;
  double delta_x, delta_y, delta_z, slice_offset;
};

/// Geometry of a cone beam with a flat detector and the footprints of a rotating gantry, after checks that its lengths
/// are within reach of the kernels.
template <class Parameters> cone_geometry make_flat_cone(Parameters const& p, cone_grid const& grid) {
  bool const infinite = std::isinf(p.source_detector_dist);
  require_addressable(p.sinogram_shape, grid.shape);
  require_length(p.delta_det_channel, "delta_det_channel");
  require_length(p.delta_det_row, "delta_det_row");
  require_pitch(grid.delta_x, "delta_voxel", p.delta_det_channel, "delta_det_channel");
  require_pitch(grid.delta_y, "voxel_row_aspect times delta_voxel", p.delta_det_channel, "delta_det_channel");
  require_pitch(grid.delta_z, "voxel_slice_aspect times delta_voxel", p.delta_det_row, "delta_det_row");
  require_position(p.det_channel_offset, "det_channel_offset", p.delta_det_channel, "delta_det_channel");
  require_position(p.det_row_offset, "det_row_offset", p.delta_det_row, "delta_det_row");
  require_position(grid.slice_offset, "recon_slice_offset", grid.delta_z, "the pitch of the slices");
  if (!infinite) require_distances(p.source_detector_dist, p.source_iso_dist);
  return {.views = p.sinogram_shape[0], .rows = p.sinogram_shape[1], .channels = p.sinogram_shape[2],
          .recon_rows = grid.shape[0], .recon_cols = grid.shape[1], .slices = grid.shape[2],
          .delta_det_channel = p.delta_det_channel, .delta_det_row = p.delta_det_row,
          .det_channel_offset = p.det_channel_offset, .det_row_offset = p.det_row_offset,
          .delta_x = grid.delta_x, .delta_y = grid.delta_y, .delta_z = grid.delta_z, .side_extent = grid.delta_y,
          .recon_slice_offset = grid.slice_offset,
          .inverse_magnification = infinite ? 1.0 : p.source_iso_dist / p.source_detector_dist,
          .inverse_detector_dist = infinite ? 0.0 : 1.0 / p.source_detector_dist,
          .curved = false};
}

}  // namespace detail

inline gantry_views make_views(cone_parameters const& p) { return {p.angles, p.helical_z_shifts}; }
inline void require_views(cone_geometry const& g, gantry_views const& v) {
  detail::require_views(v, g.views);
  for (auto const z : v.z_shifts)
    detail::require_position(z, "set_views: a z shift", g.delta_z, "the pitch of the slices");
}
MBIRK_COLD inline std::vector<std::string> scan_warnings(cone_parameters const& p) {
  return detail::steepness_warnings(p);
}

/// delta = delta_det_channel / M; rows, cols = rint of the detector width mapped to the axis; slices cover the detector
/// height mapped to the axis plus the travel of the helix, plus axial_pad_fraction of the region that the cone covers
/// beyond; the offset is the middle of the helix. Quotients are rounded to float32 before the integer rounding, as in
/// MBIRJAX.
/// @throws parameter_error if axial_pad_fraction is not one or two numbers, or is negative, and if a distance is not
///         positive.
MBIRK_COLD inline automatic_size auto_size(cone_parameters const& p) {
  detail::require_pads(p.axial_pad_fraction);
  detail::require_positive_distances(p);
  double const m = detail::magnification(p), delta = p.delta_det_channel / m;
  double const delta_y = p.voxel_row_aspect * delta, delta_z = p.voxel_slice_aspect * delta;
  double const rows = static_cast<double>(p.sinogram_shape[1]), channels = static_cast<double>(p.sinogram_shape[2]);
  automatic_size size;
  size.delta_voxel = delta;
  size.recon_shape[0] = detail::rint_f32(channels * ((p.delta_det_channel / delta_y) / m));
  size.recon_shape[1] = detail::rint_f32(channels * ((p.delta_det_channel / delta) / m));

  float lowest = 0, highest = 0;
  if (!p.helical_z_shifts.empty()) {
    auto const [lo, hi] = std::minmax_element(p.helical_z_shifts.begin(), p.helical_z_shifts.end());
    lowest = *lo;
    highest = *hi;
  }
  double const height = rows * (p.delta_det_row / m);
  float const extent = static_cast<float>(height) + (highest - lowest);
  index_t const slices = std::max<index_t>(1, detail::to_count(std::ceil(extent / static_cast<float>(delta_z))));
  size.recon_slice_offset = static_cast<double>((lowest + highest) / 2);

  double const top = p.axial_pad_fraction.front(), bottom = p.axial_pad_fraction.back();
  double const inverse_dist = std::isinf(p.source_detector_dist) ? 0 : 1 / p.source_detector_dist;
  double const radius = detail::support_radius(p.use_ror_mask, static_cast<double>(size.recon_shape[0]) * delta_y,
                                               static_cast<double>(size.recon_shape[1]) * delta);
  double const reach = 1 / m + radius * inverse_dist;
  auto const edge = [&](double row) {
    return static_cast<double>(static_cast<float>((row - (rows - 1) / 2) * p.delta_det_row - p.det_row_offset));
  };
  double const low = edge(-0.5), high = edge(rows - 0.5);
  double const beyond_bottom = std::max(0.0, std::max(low, high) * reach - height / 2);
  double const beyond_top = std::max(0.0, -std::min(low, high) * reach - height / 2);
  auto const pad_top = detail::to_count(std::ceil(top * beyond_top / delta_z));
  auto const pad_bottom = detail::to_count(std::ceil(bottom * beyond_bottom / delta_z));
  size.recon_shape[2] = slices + pad_top + pad_bottom;
  size.recon_slice_offset += static_cast<double>(pad_bottom - pad_top) * delta_z / 2;
  return size;
}

/// @throws parameter_error with the name of the parameter, its value and the expected value.
MBIRK_COLD inline cone_geometry make_geometry(cone_parameters const& p) {
  detail::require_common(p);
  detail::require_positive_distances(p);
  bool const infinite = std::isinf(p.source_detector_dist);
  require(!(infinite && p.use_curved_detector), [] {
    return "use_curved_detector is true, expected false when source_detector_dist is infinite";
  });
  require(p.helical_z_shifts.empty() || p.helical_z_shifts.size() == p.angles.size(), [&] {
    return detail::message("helical_z_shifts has ", p.helical_z_shifts.size(), " values, expected one per angle = ",
                           p.angles.size());
  });
  for (auto const z : p.helical_z_shifts) detail::require_finite(z, "helical_z_shifts: a value");
  if (p.recon_slice_offset) detail::require_finite(*p.recon_slice_offset, "recon_slice_offset");

  auto const automatic = auto_size(p);
  double const delta = p.delta_voxel.value_or(automatic.delta_voxel);
  detail::cone_grid const grid{p.recon_shape.value_or(automatic.recon_shape), delta, p.voxel_row_aspect * delta,
                               p.voxel_slice_aspect * delta,
                               p.recon_slice_offset.value_or(automatic.recon_slice_offset)};
  cone_geometry g = detail::make_flat_cone(p, grid);
  g.curved = p.use_curved_detector;
  for (auto const z : p.helical_z_shifts)
    detail::require_position(z, "helical_z_shifts: a value", g.delta_z, "the pitch of the slices");
  // MBIRJAX does not check this and projects to zero. Corners of the grid may still lie beside the source; those pixels
  // do not contribute.
  double const half = std::max(static_cast<double>(g.recon_cols) * g.delta_x,
                               static_cast<double>(g.recon_rows) * g.delta_y) / 2;
  require(infinite || p.source_iso_dist > half, [&] {
    return detail::message("source_iso_dist is ", p.source_iso_dist,
                           ", expected more than half the width of the reconstruction = ", half);
  });
  return g;
}

}  // namespace mbirk
