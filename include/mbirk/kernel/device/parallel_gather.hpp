// Parallel forward projection on a device: a task, run by one warp, owns four channels of one view over a chunk of
// slices and accumulates them in registers.
#pragma once

#include "mbirk/kernel/device/gather_bounds.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

template <class B> struct parallel_gather {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using wide = typename I::wide;
  static constexpr int most_packs = 4;

  typename B::template cursor<float const> voxel_columns;
  typename B::template cursor<float> sinogram;                 // channel-major
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  // Bounding boxes of the groups (group_bounds).
  typename I::template cursor<std::int32_t const> doubled_row_center, row_extent, doubled_col_center, col_extent;
  typename I::template cursor<view_taps const> views;          // the first pass of every view
  chunked_shape shape;
  device_span<pixel_group> groups;

  index_t tasks() const noexcept { return shape.views * ceil_div(shape.channels, gather_channels) * shape.chunks; }

  /// Tasks are (view, four channels, chunk).
  MBIRK_HD void operator()(index_t task) const noexcept {
    with_packs<B, most_packs>(shape.packs, [&](auto packs) MBIRK_FLAT { project(packs, task); });
  }

 private:
  template <class Packs> MBIRK_HD void project(Packs packs, index_t task) const noexcept {
    index_t const chunk = task % shape.chunks, quads = ceil_div(shape.channels, gather_channels),
        first = task / shape.chunks % quads * gather_channels;
    auto const view = I::load_value(views + task / shape.chunks / quads);
    index_t const used = shape.used(chunk);
    // Distance of a footprint's centre from the centre of the four channels, in channels:
    // origin + row_step i + col_step j.
    double const middle = 0.5 * (gather_channels - 1),
        origin = view.edge + 0.5 * (view.width - 1) - (static_cast<double>(first) + middle);
    double const reach = middle + 0.5 * (view.width + 1);

    pack sum[gather_channels][Packs::max_value];
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      packs.each([&](auto i) MBIRK_FLAT { sum[t][i] = B::constant(0); });
    });
    for (index_t g = 0; g < groups.size(); g += B::lanes) {
      for_each_set_bit(groups_that_reach(view, g, origin, reach), [&](int lane) MBIRK_FLAT {
        pixel_group const group = groups[g + lane];
        for (int k = 0; k < group.count; k += B::lanes)
          add_pixels(packs, view, group.first + k, group.count - k, origin, chunk * shape.width, used, sum);
      });
    }
    auto const out = sinogram + (shape.offset(chunk, view.view) + (first + guard_channels) * shape.width);
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      if (first + t >= shape.channels) return;
      packs.each([&](auto i) MBIRK_FLAT { B::store(out + (t * shape.width + i * B::lanes), sum[t][i]); });
    });
  }

  /// Bit mask of the groups g..g+31 whose bounding box can reach this warp's channels (conservative).
  MBIRK_INLINE unsigned groups_that_reach(view_taps const& view, index_t g, double origin,
                                          double reach) const noexcept {
    double const half_row = 0.5 * view.row_step, half_col = 0.5 * view.col_step;
    wide const row_half = I::broadcast(half_row), col_half = I::broadcast(half_col);
    wide const middle = fma(I::to_wide(I::load_ints(doubled_row_center + g)), row_half,
                            fma(I::to_wide(I::load_ints(doubled_col_center + g)), col_half, I::broadcast(origin)));
    wide const spread = abs(I::to_wide(I::load_ints(row_extent + g)) * row_half) +
        abs(I::to_wide(I::load_ints(col_extent + g)) * col_half);
    auto const none = I::constant(0), one = I::first_lanes(groups.size() - g);
    return I::where(none < one * I::to_pack(select(abs(middle) < spread + I::broadcast(reach), I::broadcast(1.0),
                                                   I::broadcast(0.0))));
  }

  /// Adds pixels first, first + 1, ..., one per lane, to the four channels.
  template <class Packs>
  MBIRK_INLINE void add_pixels(Packs packs, view_taps const& view, index_t first, int count, double origin,
                               index_t slice, index_t used,
                               pack (&sum)[gather_channels][Packs::max_value]) const noexcept {
    wide const i = I::to_wide(I::load_ints(rows + first)), j = I::to_wide(I::load_ints(cols + first));
    auto const distance = I::to_pack(
        fma(i, I::broadcast(view.row_step), fma(j, I::broadcast(view.col_step), I::broadcast(origin))));
    auto const width = I::broadcast(static_cast<float>(view.width)),
        chord = I::broadcast(view.chord) * I::first_lanes(count);
    auto any = I::constant(0);
    typename I::pack weight[gather_channels];
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      weight[t] = chord * definition::overlap(distance + I::constant(0.5 * (gather_channels - 1) - t), width);
      any = any + weight[t];
    });
    for_each_set_bit(I::where(I::constant(0) < any), [&](int lane) MBIRK_FLAT {
      auto const x = voxel_columns + (I::load_value(offsets + (first + lane)) + slice);
      pack value[Packs::max_value];
      packs.each([&](auto p) MBIRK_FLAT {
        index_t const left = used - p * B::lanes;
        value[p] = left >= B::lanes ? B::load(x + p * B::lanes)
                                    : B::load_partial(x + p * B::lanes, static_cast<int>(max<index_t>(left, 0)));
      });
      simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
        pack const a = B::broadcast(I::at(weight[t], lane));
        packs.each([&](auto p) MBIRK_FLAT { sum[t][p] = fma(a, value[p], sum[t][p]); });
      });
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
