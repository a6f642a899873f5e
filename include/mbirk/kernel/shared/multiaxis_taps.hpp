// Multi-axis parallel beam, per view: channels as in parallel beam, and the vertical footprints of a voxel column,
// whose place is affine in the pixel. In most views the slices tile the column, and it is resampled like a cone's;
// elsewhere (elevations beyond 45 degrees) neighbouring footprints overlap, and the taps are gathered.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "mbirk/definition/multiaxis_rows.hpp"
#include "mbirk/geometry/general.hpp"
#include "mbirk/kernel/shared/resample.hpp"
#include "mbirk/kernel/shared/view_taps.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// One pass over the pixels for one view. The chord of the channels is multiplied by the height of the rows' weights.
struct multiaxis_taps {
  view_taps channels;
  double edge, row_step, col_step;  ///< left edge of slice 0: edge + row_step i + col_step j, in detector rows
  double step, width;               ///< from slice to slice, and of a footprint, in detector rows
  bool tiles;                       ///< step == width: footprints are next to each other, in the order of the rows

  MBIRK_HD MBIRK_INLINE double edge_of(std::int32_t i, std::int32_t j) const noexcept {
    return edge + row_step * i + col_step * j;
  }
};

inline std::vector<multiaxis_taps> make_multiaxis_taps(multiaxis_scan const& s) {
  std::vector<multiaxis_taps> passes;
  auto const& g = s.geometry();
  for (auto const& channels : make_view_taps(s)) {
    auto const& at = s.positions()[static_cast<std::size_t>(channels.view)];
    auto const f = definition::multiaxis_rows(g, at.cosine, at.sine, at.cos_elevation, at.sin_elevation,
                                              definition::column_x(g, 0.0), definition::row_y(g, 0.0));
    multiaxis_taps pass{.channels = channels, .edge = definition::left_edge(f.centre, f.width),
                        .row_step = at.sin_elevation * at.cosine * g.delta_y / g.delta_det_row,
                        .col_step = at.sin_elevation * at.sine * g.delta_x / g.delta_det_row,
                        .step = f.step, .width = f.width, .tiles = f.step == f.width};
    pass.channels.chord *= static_cast<float>(f.height);
    passes.push_back(pass);
  }
  return passes;
}

/// General views with parallel rays whose channels are the same for all slices: the detector's rows, or the rays, are
/// such that the axis of the slices does not cross channels. No passes if any view has others, or positions beyond the
/// fixed point of the kernels.
inline std::vector<multiaxis_taps> make_multiaxis_taps(general_scan const& s) {
  std::vector<multiaxis_taps> passes;
  auto const& g = s.geometry();
  if (!g.parallel_rays) return {};
  std::vector<view_taps> channels;
  for (auto const& at : s.positions()) {
    constexpr double most = 1 << 24, none = 1e-9;  // cells; a part of a channel
    double const travel = at.channel.slice * static_cast<double>(g.slices);
    auto const fits = [](voxel_affine const& a) {
      return std::abs(a.base) < most && std::abs(a.col) < most && std::abs(a.row) < most && std::abs(a.slice) < most;
    };
    if (!(std::abs(travel) <= none && fits(at.channel) && fits(at.row))) return {};
    double const width = std::max(std::abs(at.channel.col), std::abs(at.channel.row)),
                 height = std::max({std::abs(at.row.col), std::abs(at.row.row), std::abs(at.row.slice)});
    if (!(std::min(width, height) * most > 1)) return {};
    std::size_t const first = channels.size();
    append_passes(channels,
                  {.edge = definition::left_edge(at.channel.base, width), .row_step = at.channel.row,
                   .col_step = at.channel.col, .width = width, .row_fixed = 0, .col_fixed = 0,
                   .chord = static_cast<float>(at.scale / (width * height)),
                   .view = static_cast<std::int32_t>(&at - s.positions().data()), .first_tap = 0,
                   .taps = width <= 1 ? 2 : 3, .window = width > 2},
                  g.channels);
    for (std::size_t p = first; p < channels.size(); ++p)
      passes.push_back({.channels = channels[p], .edge = definition::left_edge(at.row.base, height),
                        .row_step = at.row.row, .col_step = at.row.col, .step = at.row.slice, .width = height,
                        .tiles = at.row.slice == height});
  }
  return passes;
}

/// Taps of overlapping footprints. The sources are the cells -1 .. cells of a sequence with zeros around it.
///
/// Towards slices, destination k takes the rows of its footprint [edge + step k, edge + step k + width). Towards rows,
/// destination m takes the slices whose footprints reach the row: their number grows without bound as the step goes to
/// 0, so it is limited to all slices.
struct gathered_taps {
  double edge, step, width, inverse_step = 0, reach = 0;
  index_t cells;
  int taps;
  bool all = false;  ///< towards rows: every slice is looked at

  MBIRK_HD static gathered_taps towards_slices(double edge, double step, double width, index_t rows) noexcept {
    double const widest = width < static_cast<double>(rows + 2) ? width : static_cast<double>(rows + 2);
    return {.edge = edge, .step = step, .width = width, .cells = rows, .taps = static_cast<int>(std::ceil(widest)) + 1};
  }
  MBIRK_HD static gathered_taps towards_rows(double edge, double step, double width, index_t slices) noexcept {
    gathered_taps t{.edge = edge, .step = step, .width = width, .cells = slices, .taps = static_cast<int>(slices)};
    double const size = step < 0 ? -step : step;
    t.all = 1 + width >= static_cast<double>(slices - 1) * size;
    if (t.all) return t;
    t.inverse_step = 1 / step;
    t.reach = step > 0 ? -width : 1;
    t.taps = static_cast<int>(std::ceil((1 + width) / size)) + 1;
    return t;
  }

  /// Calls f(source cell, overlap) for the taps of the destinations d: whole numbers as wide numbers. Cells beside the
  /// source become -1 or `cells`.
  template <class I, bool TowardsRows, class F>
  MBIRK_INLINE void each(typename I::wide d, F const& f) const noexcept {
    using wide = typename I::wide;
    wide const lowest = I::broadcast(-1.0), zero = I::broadcast(0.0);
    wide const highest = I::broadcast(static_cast<double>(cells));
    if constexpr (TowardsRows) {
      wide const next = d + I::broadcast(1.0), w = I::broadcast(width);
      wide const first = all ? zero : floor((d + I::broadcast(reach - edge)) * I::broadcast(inverse_step));
      for (int t = 0; t < taps; ++t) {
        wide const k = max(min(first + I::broadcast(static_cast<double>(t)), highest), lowest);
        wide const left = fma(k, I::broadcast(step), I::broadcast(edge));
        f(I::to_ints(k), max(min(next, left + w) - max(d, left), zero));
      }
    } else {
      wide const left = fma(d, I::broadcast(step), I::broadcast(edge)), e = max(left, lowest);
      wide const w = max(min(left + I::broadcast(width), highest + I::broadcast(1.0)) - e, zero);
      wide const cell = floor(e), fraction = e - cell;
      for (int t = 0; t < taps; ++t) {
        wide const tap = I::broadcast(static_cast<double>(t));
        f(I::to_ints(max(min(cell + tap, highest), lowest)), definition::overlap_tap(fraction, w, tap));
      }
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
