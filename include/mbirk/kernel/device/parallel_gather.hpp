// Parallel forward projection on a device: a task, a warp, owns four channels of one view over a chunk of slices and sums them in registers.
#pragma once

#include "mbirk/kernel/device/gather_bounds.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

template <class B> struct parallel_gather {
  using G = typename B::geometry;
  using pack = typename B::pack;
  using wide = typename G::wide;
  static constexpr int most_packs = 4;

  typename B::template cursor<float const> cylinders;
  typename B::template cursor<float> sinogram;                                                        // channel-major
  typename G::template cursor<std::int32_t const> rows, cols;                                         // of the planned pixels
  typename G::template cursor<index_t const> offsets;                                                 // of their cylinders
  typename G::template cursor<std::int32_t const> row_middle, row_reach, col_middle, col_reach;       // of their groups
  typename G::template cursor<parallel_pass const> views;                                             // the first pass of every view
  chunked_shape shape;
  list<pixel_group> groups;

  index_t tasks() const noexcept { return shape.views * ceil_div(shape.channels, gather_channels) * shape.chunks; }

  /// Tasks: (view, four channels, chunk).
  MBIRK_HD void operator()(index_t task) const noexcept {
    with_packs<B, most_packs>(shape.packs, [&](auto packs) MBIRK_FLAT { project(packs, task); });
  }

 private:
  template <class Packs> MBIRK_HD void project(Packs packs, index_t task) const noexcept {
    index_t const chunk = task % shape.chunks, quads = ceil_div(shape.channels, gather_channels), first = task / shape.chunks % quads * gather_channels;
    auto const view = G::load_value(views + task / shape.chunks / quads);
    index_t const used = shape.used(chunk);
    // The middle of a footprint from the middle of the four channels, in channels: origin + row_step i + col_step j.
    double const middle = 0.5 * (gather_channels - 1), origin = view.edge + 0.5 * (view.width - 1) - (static_cast<double>(first) + middle);
    double const reach = middle + 0.5 * (view.width + 1);

    pack sum[gather_channels][Packs::most];
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      packs.each([&](auto i) MBIRK_FLAT { sum[t][i] = B::constant(0); });
    });
    for (index_t g = 0; g < groups.size(); g += B::lanes) {
      each_bit(groups_that_reach(view, g, origin, reach), [&](int lane) MBIRK_FLAT {
        pixel_group const group = groups[g + lane];
        for (int k = 0; k < group.count; k += B::lanes) add_pixels(packs, view, group.first + k, group.count - k, origin, chunk * shape.width, used, sum);
      });
    }
    auto const out = sinogram + (shape.offset(chunk, view.view) + (first + guard_channels) * shape.width);
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      if (first + t >= shape.channels) return;
      packs.each([&](auto i) MBIRK_FLAT { B::store(out + (t * shape.width + i * B::lanes), sum[t][i]); });
    });
  }

  /// Of the groups from g on, a lane each, those that may have a pixel within reach.
  MBIRK_INLINE unsigned groups_that_reach(parallel_pass const& view, index_t g, double origin, double reach) const noexcept {
    double const half_row = 0.5 * view.row_step, half_col = 0.5 * view.col_step;
    wide const row_half = G::broadcast(half_row), col_half = G::broadcast(half_col);
    wide const middle = fma(G::to_wide(G::load_ints(row_middle + g)), row_half, fma(G::to_wide(G::load_ints(col_middle + g)), col_half, G::broadcast(origin)));
    wide const spread = abs(G::to_wide(G::load_ints(row_reach + g)) * row_half) + abs(G::to_wide(G::load_ints(col_reach + g)) * col_half);
    auto const none = G::constant(0), one = G::first_lanes(groups.size() - g);
    return G::where(none < one * G::to_pack(select(abs(middle) < spread + G::broadcast(reach), G::broadcast(1.0), G::broadcast(0.0))));
  }

  /// Adds the pixels first, first + 1, ..., a lane each, to the four channels.
  template <class Packs>
  MBIRK_INLINE void add_pixels(Packs packs, parallel_pass const& view, index_t first, int count, double origin, index_t slice, index_t used,
                               pack (&sum)[gather_channels][Packs::most]) const noexcept {
    wide const i = G::to_wide(G::load_ints(rows + first)), j = G::to_wide(G::load_ints(cols + first));
    auto const distance = G::to_pack(fma(i, G::broadcast(view.row_step), fma(j, G::broadcast(view.col_step), G::broadcast(origin))));
    auto const width = G::broadcast(static_cast<float>(view.width)), chord = G::broadcast(view.chord) * G::first_lanes(count);
    auto any = G::constant(0);
    typename G::pack weight[gather_channels];
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      weight[t] = chord * definition::overlap(distance + G::constant(0.5 * (gather_channels - 1) - t), width);
      any = any + weight[t];
    });
    each_bit(G::where(G::constant(0) < any), [&](int lane) MBIRK_FLAT {
      auto const x = cylinders + (G::load_value(offsets + (first + lane)) + slice);
      pack value[Packs::most];
      packs.each([&](auto p) MBIRK_FLAT {
        index_t const left = used - p * B::lanes;
        value[p] = left >= B::lanes ? B::load(x + p * B::lanes) : B::load_partial(x + p * B::lanes, static_cast<int>(greatest<index_t>(left, 0)));
      });
      simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
        pack const a = B::broadcast(G::at(weight[t], lane));
        packs.each([&](auto p) MBIRK_FLAT { sum[t][p] = fma(a, value[p], sum[t][p]); });
      });
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
