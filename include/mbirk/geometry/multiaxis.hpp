// Parallel beam with an azimuth and an elevation per view (laminography is a special case): parameters, geometry,
// automatic sizing.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/geometry/parallel.hpp"

namespace mbirk {

/// Parameters with the names and defaults of MBIRJAX. Lengths in one arbitrary unit, angles in radians. Empty optionals
/// are sized automatically.
struct multiaxis_parameters {
  std::array<index_t, 3> sinogram_shape{};  ///< (views, rows, channels)
  std::vector<float> angles;                ///< azimuth and elevation of every view, one after the other
  double delta_det_channel = 1, delta_det_row = 1;
  double det_channel_offset = 0, det_row_offset = 0;
  std::optional<double> delta_voxel = {};
  double voxel_row_aspect = 1, voxel_slice_aspect = 1;
  std::optional<std::array<index_t, 3>> recon_shape = {};  ///< (rows, cols, slices)
  double recon_slice_offset = 0;
  mask_setting use_ror_mask = true;
};

/// Azimuth and elevation of the beam, one of each per view.
struct multiaxis_views {
  std::vector<float> angles;  ///< azimuths
  std::vector<float> elevations;

  template <class F> void each(F const& f) const {
    f("angles", angles);
    f("elevations", elevations);
  }
};
struct multiaxis_position : view_position { double cos_elevation, sin_elevation; };

/// Projector geometry: trivially copyable; make_geometry validates it. Channels are those of parallel beam.
struct multiaxis_geometry : parallel_geometry {
  static constexpr char const* name = "multiaxis";
  static constexpr char const* beam = "multi-axis parallel beam";
  using parameters = multiaxis_parameters;
  using view_lists = multiaxis_views;
  using position = multiaxis_position;

  template <class Parameters, class Row> static void each_scan_parameter(Parameters& p, Row const& row) {
    row("angles", detail::rules::pairs, p.angles, "azimuth and elevation of each view in radians, stored as float32",
        true);
  }
  template <class Parameters, class Row> static void each_voxel_parameter(Parameters& p, Row const& row) {
    row("recon_slice_offset", detail::rules::finite_number, p.recon_slice_offset, "> 0: the grid lies at higher z",
        false);
  }
  static double magnification(multiaxis_parameters const&) { return 1; }
  /// A laminography: a full turn at an elevation of 30 degrees, of an object with as many slices as there are rows.
  static multiaxis_parameters typical_scan(std::array<index_t, 3> const& sinogram_shape) {
    multiaxis_parameters p;
    p.sinogram_shape = sinogram_shape;
    p.recon_shape = {{sinogram_shape[2], sinogram_shape[2], sinogram_shape[1]}};
    for (float const azimuth : detail::equally_spaced_angles(sinogram_shape[0], 1)) {
      p.angles.push_back(azimuth);
      p.angles.push_back(static_cast<float>(std::numbers::pi / 6));
    }
    return p;
  }

  double delta_det_row, det_row_offset;
  double delta_z, recon_slice_offset;
};

namespace detail {

/// Every second number of a list of pairs, from `first` on.
inline std::vector<float> every_second(std::vector<float> const& pairs, std::size_t first) {
  std::vector<float> part;
  for (std::size_t k = first; k < pairs.size(); k += 2) part.push_back(pairs[k]);
  return part;
}

}  // namespace detail

inline multiaxis_views make_views(multiaxis_parameters const& p) {
  return {detail::every_second(p.angles, 0), detail::every_second(p.angles, 1)};
}
inline void require_views(multiaxis_geometry const& g, multiaxis_views const& v) {
  detail::require_views({v.angles}, g.views);
  require(v.elevations.size() == v.angles.size(), [&] {
    return detail::message("set_views: ", v.elevations.size(), " elevations, expected one per angle = ",
                           v.angles.size());
  });
  for (auto const e : v.elevations) detail::require_finite(e, "set_views: an elevation");
}
inline std::vector<multiaxis_position> place_views(multiaxis_views const& v) {
  gantry_views gantry{v.angles};
  std::vector<multiaxis_position> positions;
  for (auto const& at : place_views(gantry)) {
    double const elevation = v.elevations[positions.size()];  // stored as float32, double from here on
    positions.push_back({at, std::cos(elevation), std::sin(elevation)});
  }
  return positions;
}
MBIRK_COLD inline std::vector<std::string> scan_warnings(multiaxis_parameters const& p) {
  double steepest = 0;
  for (double const e : detail::every_second(p.angles, 1)) steepest = std::max(steepest, std::abs(e));
  if (!(steepest > static_cast<double>(static_cast<float>(std::numbers::pi / 4)))) return {};
  return {"angles has elevations up to " + detail::number_text(steepest * 180 / std::numbers::pi) +
          " degrees: beyond 45 degrees the box that stands for the footprint of a voxel fits less well"};
}

/// delta = delta_det_channel; rows = floor(C delta_c / (a_r delta)), cols = floor(C delta_c / delta);
/// slices = floor(R delta_r / (c delta_z)) with the least |cos(elevation)|, at least 0.1, as c. The slice offset is
/// left alone. Quotients are float32, as in MBIRJAX.
MBIRK_COLD inline automatic_size auto_size(multiaxis_parameters const& p) {
  double const delta = p.delta_det_channel, width = static_cast<double>(p.sinogram_shape[2]) * p.delta_det_channel;
  auto const floored = [](double x) {
    return detail::to_count(std::floor(static_cast<double>(static_cast<float>(x))));
  };
  float least = 1;
  for (auto const e : detail::every_second(p.angles, 1))
    least = std::min(least, static_cast<float>(std::abs(std::cos(static_cast<double>(e)))));
  float const half_height = static_cast<float>(static_cast<double>(p.sinogram_shape[1]) * p.delta_det_row / 2);
  float const height = 2 * (half_height / std::max(least, 0.1f));
  return {delta,
          {floored(width / (p.voxel_row_aspect * delta)), floored(width / delta),
           floored(height / static_cast<float>(p.voxel_slice_aspect * delta))},
          p.recon_slice_offset};
}

/// @throws parameter_error with the name of the parameter, its value and the expected value.
MBIRK_COLD inline multiaxis_geometry make_geometry(multiaxis_parameters const& p) {
  require(static_cast<index_t>(p.angles.size()) == 2 * p.sinogram_shape[0], [&] {
    return detail::message("angles has ", p.angles.size(), " values, expected (azimuth, elevation) per view = 2 * ",
                           p.sinogram_shape[0]);
  });
  for (auto const a : p.angles) detail::require_finite(a, "angles: a value");
  detail::require_common(parallel_parameters{
      .sinogram_shape = p.sinogram_shape, .angles = detail::every_second(p.angles, 0),
      .delta_det_channel = p.delta_det_channel, .delta_det_row = p.delta_det_row,
      .det_channel_offset = p.det_channel_offset, .det_row_offset = p.det_row_offset, .delta_voxel = p.delta_voxel,
      .voxel_row_aspect = p.voxel_row_aspect, .voxel_slice_aspect = p.voxel_slice_aspect,
      .recon_shape = p.recon_shape});
  detail::require_finite(p.recon_slice_offset, "recon_slice_offset");
  auto const automatic = auto_size(p);
  double const delta = p.delta_voxel.value_or(automatic.delta_voxel), delta_y = p.voxel_row_aspect * delta,
               delta_z = p.voxel_slice_aspect * delta;
  auto const recon = p.recon_shape.value_or(automatic.recon_shape);
  detail::require_addressable(p.sinogram_shape, recon);
  detail::require_length(p.delta_det_channel, "delta_det_channel");
  detail::require_length(p.delta_det_row, "delta_det_row");
  // A column of voxels also extends across the rows, by its pitches in the plane of a slice.
  for (auto const& [pitch, cells] : {std::pair{p.delta_det_channel, "delta_det_channel"},
                                     std::pair{p.delta_det_row, "delta_det_row"}}) {
    detail::require_pitch(delta, "delta_voxel", pitch, cells);
    detail::require_pitch(delta_y, "voxel_row_aspect times delta_voxel", pitch, cells);
  }
  detail::require_pitch(delta_z, "voxel_slice_aspect times delta_voxel", p.delta_det_row, "delta_det_row");
  detail::require_position(p.det_channel_offset, "det_channel_offset", p.delta_det_channel, "delta_det_channel");
  detail::require_position(p.det_row_offset, "det_row_offset", p.delta_det_row, "delta_det_row");
  detail::require_position(p.recon_slice_offset, "recon_slice_offset", delta_z, "the pitch of the slices");
  return {{.views = p.sinogram_shape[0], .rows = p.sinogram_shape[1], .channels = p.sinogram_shape[2],
           .recon_rows = recon[0], .recon_cols = recon[1], .slices = recon[2],
           .delta_det_channel = p.delta_det_channel, .det_channel_offset = p.det_channel_offset,
           .delta_x = delta, .delta_y = delta_y},
          p.delta_det_row, p.det_row_offset, delta_z, p.recon_slice_offset};
}

}  // namespace mbirk
