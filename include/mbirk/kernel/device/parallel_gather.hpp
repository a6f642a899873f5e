// Parallel forward projection on a device: a task, run by one warp, owns four channels of one view over a chunk of
// slices and accumulates them in registers.
#pragma once

#include "mbirk/kernel/device/gather_bounds.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// View, first channel and chunk of a task.
struct gather_task {
  index_t view, first, chunk;

  MBIRK_HD gather_task(chunked_shape const& shape, index_t task) noexcept
      : view(task / shape.chunks / ceil_div(shape.channels, gather_channels)),
        first(task / shape.chunks % ceil_div(shape.channels, gather_channels) * gather_channels),
        chunk(task % shape.chunks) {}

  static index_t count(chunked_shape const& shape) noexcept {
    return shape.views * ceil_div(shape.channels, gather_channels) * shape.chunks;
  }
  /// Distance of a footprint's centre from the centre of the four channels, in channels:
  /// origin + row_step i + col_step j.
  MBIRK_HD double origin(view_taps const& taps) const noexcept {
    return taps.edge + 0.5 * (taps.width - 1) - (static_cast<double>(first) + 0.5 * (gather_channels - 1));
  }
};

/// Sums of four channels over a chunk.
template <class B, class Packs> struct gather_sums {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using wide = typename I::wide;

  pack sum[gather_channels][Packs::max_value];

  MBIRK_HD explicit gather_sums(Packs packs) noexcept {
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      packs.each([&](auto i) MBIRK_FLAT { sum[t][i] = B::constant(0); });
    });
  }

  /// Adds the first `count` of 32 pixels (i, j), one per lane, to the four channels. column_of(lane): voxel column of a
  /// lane's pixel, from the chunk's first slice on, of which `used` are in the volume.
  template <class ColumnOf>
  MBIRK_INLINE void add(Packs packs, view_taps const& view, double origin, wide i, wide j, index_t count, index_t used,
                        ColumnOf const& column_of) noexcept {
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
      auto const x = column_of(lane);
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

  /// Stores the channels that exist; view_chunk: the chunk of the view in a channel-major sinogram.
  MBIRK_INLINE void store(Packs packs, gather_task const& own, chunked_shape const& shape,
                          typename B::template cursor<float> view_chunk) const noexcept {
    auto const out = view_chunk + (own.first + guard_channels) * shape.width;
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      if (own.first + t >= shape.channels) return;
      packs.each([&](auto i) MBIRK_FLAT { B::store(out + (t * shape.width + i * B::lanes), sum[t][i]); });
    });
  }
};

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

  index_t tasks() const noexcept { return gather_task::count(shape); }

  /// Tasks are (view, four channels, chunk).
  MBIRK_HD void operator()(index_t task) const noexcept {
    with_packs<B, most_packs>(shape.packs, [&](auto packs) MBIRK_FLAT { project(packs, task); });
  }

 private:
  template <class Packs> MBIRK_HD void project(Packs packs, index_t task) const noexcept {
    gather_task const own(shape, task);
    auto const view = I::load_value(views + own.view);
    double const origin = own.origin(view), reach = 0.5 * (gather_channels - 1) + 0.5 * (view.width + 1);
    index_t const used = shape.used(own.chunk);
    auto const at_chunk = voxel_columns + own.chunk * shape.width;

    gather_sums<B, Packs> sums(packs);
    for (index_t g = 0; g < groups.size(); g += B::lanes) {
      for_each_set_bit(groups_that_reach(view, g, origin, reach), [&](int lane) MBIRK_FLAT {
        pixel_group const group = groups[g + lane];
        for (int k = 0; k < group.count; k += B::lanes) {
          index_t const first = group.first + k;
          sums.add(packs, view, origin, I::to_wide(I::load_ints(rows + first)), I::to_wide(I::load_ints(cols + first)),
                   group.count - k, used,
                   [&](int pixel) MBIRK_FLAT { return at_chunk + I::load_value(offsets + (first + pixel)); });
        }
      });
    }
    sums.store(packs, own, shape, sinogram + shape.offset(own.chunk, view.view));
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
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
