// General views that the kernels of cone beam can project: vertical detectors with equal pitches, distances to the
// source and offsets; the sources may be anywhere. Their footprints are separable.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "mbirk/geometry/cone.hpp"
#include "mbirk/geometry/general.hpp"
#include "mbirk/geometry/scan.hpp"

namespace mbirk::detail {

struct upright_views { std::vector<view_position> positions; };
struct upright_parameters {
  cone_geometry geometry;
  upright_views views;
  mask_setting use_ror_mask = false;  ///< plans of pixels come with their own
};

/// A cone beam whose views have positions of their own; used only inside the projector of general views.
struct upright_geometry : cone_geometry {
  using parameters = upright_parameters;
  using view_lists = upright_views;
};
inline upright_geometry make_geometry(upright_parameters const& p) { return {p.geometry}; }
inline upright_views make_views(upright_parameters const& p) { return p.views; }
inline std::vector<view_position> place_views(upright_geometry const&, upright_views& v) { return v.positions; }
inline std::vector<std::string> scan_warnings(upright_parameters const&) { return {}; }

/// A general view as one of a cone beam.
struct upright_view {
  double distance;                        ///< from the source to the detector
  double channel_offset, row_offset;      ///< det_channel_offset and det_row_offset
  double channel_pitch, row_pitch;
  vector3 across, towards_source;         ///< unit vectors

  /// Returns nullopt if the detector is not upright.
  static std::optional<upright_view> of(general_view const& s) {
    constexpr double angle_tolerance = 1e-12;  // sine of an angle, as roundings of turned vectors leave it
    double const pitch = length(s.u), row_pitch = length(s.v);
    bool const is_upright = s.v.z > 0 && std::hypot(s.v.x, s.v.y) <= angle_tolerance * row_pitch;
    if (!is_upright || std::abs(s.u.z) > angle_tolerance * pitch) return {};
    auto const across = s.u / pitch;
    vector3 const towards{-across.y, across.x, 0};
    upright_view const view{dot(s.source - s.detector, towards), dot(s.source - s.detector, across),
                            s.source.z - s.detector.z, pitch, row_pitch, across, towards};
    return view.distance > 0 ? std::optional(view) : std::nullopt;  // else its channels run the other way
  }
};

/// The views as those of a cone beam, or nothing if they are not, or if its footprints or amplitudes are not those of
/// general views: with v the height of a voxel's image over the source, these need
/// |v| max(delta_x, delta_y) <= D delta_z, and (o_c o_r/D^2)^2/2 far below the rounding of float32.
inline std::optional<upright_parameters> find_upright(scan<general_geometry> const& s) {
  auto const& g = s.geometry();
  if (g.parallel_rays || g.views == 0) return {};
  upright_parameters found;
  std::optional<upright_view> first;
  double iso_dist = 0;
  for (index_t v = 0; v < g.views; ++v) {
    auto const view = general_view::of(s.views().view_vectors, v);
    auto const at = upright_view::of(view);
    if (!at) return {};
    if (!first) {
      first = at;
      iso_dist = dot(view.source, at->towards_source);
      if (!(iso_dist > 0) || std::abs(at->channel_offset * at->row_offset) > 1e-5 * at->distance * at->distance)
        return {};
    }
    double const cell_tolerance = 1e-9;
    auto const same = [&](double a, double b, double scale) { return std::abs(a - b) <= cell_tolerance * scale; };
    if (!same(at->distance, first->distance, first->channel_pitch) ||
        !same(at->channel_offset, first->channel_offset, first->channel_pitch) ||
        !same(at->row_offset, first->row_offset, first->row_pitch) ||
        !same(at->channel_pitch, first->channel_pitch, first->channel_pitch / static_cast<double>(g.channels + 1)) ||
        !same(at->row_pitch, first->row_pitch, first->row_pitch / static_cast<double>(g.rows + 1)))
      return {};
    auto const moved = view.source - at->towards_source * iso_dist;
    found.views.positions.push_back({.cosine = at->across.x, .sine = -at->across.y, .z_shift = view.source.z,
                                     .column_shift = moved.x / g.delta_x, .row_shift = moved.y / g.delta_y});
    double highest = 0, nearest = 1;
    auto const& depth = s.positions()[static_cast<std::size_t>(v)].depth;
    each_corner(g, 0, [&](double j, double i, double k) {
      double const z = (k - 0.5 * static_cast<double>(g.slices - 1)) * g.delta_z + g.recon_slice_offset;
      highest = std::max(highest, std::abs(z - view.source.z));
      nearest = std::min(nearest, value_at(depth, j, i, k));
    });
    if (highest / nearest * std::max(g.delta_x, g.delta_y) > first->distance * g.delta_z) return {};
  }
  found.geometry = {.views = g.views, .rows = g.rows, .channels = g.channels, .recon_rows = g.recon_rows,
                    .recon_cols = g.recon_cols, .slices = g.slices, .delta_det_channel = first->channel_pitch,
                    .delta_det_row = first->row_pitch, .det_channel_offset = first->channel_offset,
                    .det_row_offset = first->row_offset, .delta_x = g.delta_x, .delta_y = g.delta_y,
                    .delta_z = g.delta_z, .side_extent = g.delta_y, .recon_slice_offset = g.recon_slice_offset,
                    .inverse_magnification = iso_dist / first->distance, .inverse_detector_dist = 1 / first->distance,
                    .curved = false};
  return found;
}

}  // namespace mbirk::detail
