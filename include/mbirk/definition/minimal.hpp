// Minimum arithmetic of the definitions: two flops per nonzero weight, none for computing the weights.
// The overhead of a kernel is its counted flops divided by this minimum.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <utility>

#include "mbirk/definition/footprint.hpp"
#include "mbirk/definition/general.hpp"
#include "mbirk/definition/multiaxis_rows.hpp"
#include "mbirk/geometry/scan.hpp"

namespace mbirk::definition {

/// Sum over weights that an operation computes.
enum class weight_use { projection, unweighted_hessian };

namespace detail {

/// Position (x, y) of pixel p, in the units of the voxel pitch, in a view that shifts the object.
template <class Geometry> std::pair<double, double> place(Geometry const& g, std::int32_t p, double column_shift = 0,
                                                          double row_shift = 0) {
  return {column_x(g, static_cast<double>(p % g.recon_cols), column_shift),
          row_y(g, static_cast<double>(p / g.recon_cols), row_shift)};
}

/// Number of detector cells in [0, cells) that the interval [edge, edge + width) overlaps.
inline std::uint64_t cells_hit(double edge, double width, double cells) {
  double const low = std::max(std::floor(edge), 0.0), high = std::min(std::ceil(edge + width), cells);
  return high > low ? static_cast<std::uint64_t>(high - low) : 0;
}

}  // namespace detail

/// Parallel beam: 2 taps S per view and pixel; 2 taps for the unweighted Hessian, because all slices share them.
template <std::derived_from<parallel_geometry> Geometry>
std::uint64_t minimal_flops(scan<Geometry> const& s, std::span<std::int32_t const> pixels, weight_use use) {
  std::uint64_t taps = 0;
  for (auto const& at : s.positions()) {
    parallel_geometry const& g = geometry_of_view(s.geometry(), at);
    for (auto const p : pixels) {
      auto const [x, y] = detail::place(g, p);
      auto const f = parallel_footprint(g, at.cosine, at.sine, x, y);
      taps += detail::cells_hit(left_edge(f.centre, f.width), f.width, static_cast<double>(g.channels));
    }
  }
  return 2 * taps * (use == weight_use::projection ? static_cast<std::uint64_t>(s.geometry().slices) : 1);
}

/// Cone beam with separable resampling: 2 (channel taps x rows touched + row taps of all slices) per view and pixel;
/// for the unweighted Hessian 2 (channel taps + row taps + slices seen). Slices tile the voxel column, so its row taps
/// are the slices seen plus the row borders inside; a row border exactly on a slice border (the pixel on the axis, in
/// special geometries) counts one tap too many.
template <std::derived_from<cone_geometry> Geometry>
std::uint64_t minimal_flops(scan<Geometry> const& s, std::span<std::int32_t const> pixels, weight_use use) {
  cone_geometry const& g = s.geometry();
  double const rows = static_cast<double>(g.rows), slices = static_cast<double>(g.slices),
      channels = static_cast<double>(g.channels);
  std::uint64_t total = 0;
  for (auto const& at : s.positions())
    for (auto const p : pixels) {
      auto const [x, y] = detail::place(g, p, at.column_shift, at.row_shift);
      auto const f = make_cone_footprint(g, at.cosine, at.sine, x, y);
      if (f.channel.chord == 0) continue;  // beside or behind the source
      auto const channel_taps =
          detail::cells_hit(left_edge(f.channel.centre, f.channel.width), f.channel.width, channels);
      double const edge = left_edge(detector_row(g, f.magnification, slice_z(g, 0.0, at.z_shift)), f.row_width);
      double const low = std::max(edge, 0.0), high = std::min(edge + f.row_width * slices, rows);
      if (channel_taps == 0 || !(high > low)) continue;
      auto const rows_touched = static_cast<std::uint64_t>(std::ceil(high) - std::floor(low));
      double const first = std::floor((low - edge) / f.row_width), last = std::ceil((high - edge) / f.row_width);
      auto const seen = static_cast<std::uint64_t>(std::min(last, slices) - std::max(first, 0.0));
      auto const row_taps = seen + (rows_touched - 1);
      total += use == weight_use::projection ? channel_taps * rows_touched + row_taps : channel_taps + row_taps + seen;
    }
  return 2 * total;
}

/// Multi-axis parallel beam with separable resampling, counted as in cone beam. Slices tile the voxel column where the
/// step is as large as the footprint; elsewhere footprints overlap, and their taps are counted slice by slice.
inline std::uint64_t minimal_flops(multiaxis_scan const& s, std::span<std::int32_t const> pixels, weight_use use) {
  auto const& g = s.geometry();
  double const rows = static_cast<double>(g.rows), slices = static_cast<double>(g.slices),
      channels = static_cast<double>(g.channels);
  std::uint64_t total = 0;
  for (auto const& at : s.positions())
    for (auto const p : pixels) {
      auto const [x, y] = detail::place(g, p);
      auto const a = parallel_footprint(g, at.cosine, at.sine, x, y);
      auto const b = multiaxis_rows(g, at.cosine, at.sine, at.cos_elevation, at.sin_elevation, x, y);
      auto const channel_taps = detail::cells_hit(left_edge(a.centre, a.width), a.width, channels);
      double const last_step = b.step * (slices - 1), edge = left_edge(b.centre + std::min(last_step, 0.0), b.width),
                   end = edge + std::abs(last_step) + b.width;
      double const low = std::max(edge, 0.0), high = std::min(end, rows);
      if (slices == 0 || channel_taps == 0 || !(high > low)) continue;
      auto const rows_touched = static_cast<std::uint64_t>(std::ceil(high) - std::floor(low));
      std::uint64_t seen = 0, row_taps = 0;
      if (std::abs(b.step) == b.width) {
        double const first = std::floor((low - edge) / b.width), last = std::ceil((high - edge) / b.width);
        seen = static_cast<std::uint64_t>(std::min(last, slices) - std::max(first, 0.0));
        row_taps = seen + (rows_touched - 1);
      } else {
        for (index_t k = 0; k < g.slices; ++k) {
          double const left = left_edge(b.centre + b.step * static_cast<double>(k), b.width);
          auto const taps = detail::cells_hit(left, b.width, rows);
          row_taps += taps;
          seen += taps > 0 ? 1 : 0;
        }
      }
      total += use == weight_use::projection ? channel_taps * rows_touched + row_taps : channel_taps + row_taps + seen;
    }
  return 2 * total;
}

/// General views: 2 flops per cell that sees a voxel; for the unweighted Hessian, whose weights factor, 2 (channels
/// + rows + 1) per voxel and view.
inline std::uint64_t minimal_flops(general_scan const& s, std::span<std::int32_t const> pixels, weight_use use) {
  auto const& g = s.geometry();
  plain_interpreter<double> m;
  auto const footprints = general_footprints(m, s);
  std::uint64_t total = 0;
  for (index_t v = 0; v < g.views; ++v)
    for (auto const p : pixels)
      for (index_t k = 0; k < g.slices; ++k) {
        auto const f = footprints(v, p, k);
        auto const across = detail::cells_hit(left_edge(f.channel, f.channel_width), f.channel_width,
                                              static_cast<double>(g.channels)),
                   down = detail::cells_hit(left_edge(f.row, f.row_width), f.row_width, static_cast<double>(g.rows));
        if (across == 0 || down == 0) continue;
        total += use == weight_use::projection ? across * down : across + down + 1;
      }
  return 2 * total;
}

}  // namespace mbirk::definition
