// Forward projection of multi-axis parallel beam on a device: a task, run by one warp, owns four channels of one view
// over a range of the rows and accumulates them in registers. Lanes are sets of groups, then groups, then pixels of a
// group, then rows, onto which the voxel columns of the pixels found are resampled.
#pragma once

#include "mbirk/kernel/device/gather_bounds.hpp"
#include "mbirk/kernel/device/multiaxis_resample.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

template <class B> struct multiaxis_gather {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using wide = typename I::wide;
  static constexpr int most_packs = 4;

  index_t slices;
  typename B::template cursor<float const> voxel_columns;
  typename B::template cursor<float> sinogram;                 // channel-major, one chunk
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  group_boxes<I> boxes;
  typename I::template cursor<multiaxis_taps const> views;     // the first pass of every view
  chunked_shape shape;
  pack_pieces pieces;                                          // pieces of the detector rows
  device_span<pixel_group> groups;

  index_t tasks() const noexcept { return shape.views * ceil_div(shape.channels, gather_channels) * pieces.count(); }

  /// Tasks are (view, four channels, piece).
  MBIRK_HD void operator()(index_t task) const noexcept {
    with_packs<B, most_packs>(pieces.packs_of(task % pieces.count()), [&](auto packs) MBIRK_FLAT {
      project(packs, task);
    });
  }

 private:
  template <class Packs> MBIRK_HD void project(Packs packs, index_t task) const noexcept {
    index_t const all = pieces.count(), quads = ceil_div(shape.channels, gather_channels),
        first = task / all % quads * gather_channels, row = pieces.first(task % all);
    auto const view = I::load_value(views + task / all / quads);
    int const looked_at = slices > 0 ? static_cast<int>(groups.size()) : 0;
    // Distance of a footprint's centre from the centre of the four channels, in channels:
    // origin + row_step i + col_step j.
    double const middle = 0.5 * (gather_channels - 1),
        origin = view.channels.edge + 0.5 * (view.channels.width - 1) - (static_cast<double>(first) + middle);
    double const reach = middle + 0.5 * (view.channels.width + 1);

    pack sum[gather_channels][Packs::max_value];
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      packs.each([&](auto i) MBIRK_FLAT { sum[t][i] = B::constant(0); });
    });
    auto const there = [&](int g, int count) MBIRK_FLAT {
      return boxes.near(g, count, origin, view.channels, reach);
    };
    visit_groups<I>(groups, looked_at, there, [&](index_t pixel, int count) MBIRK_FLAT {
      add_pixels(packs, view, pixel, count, origin, row, sum);
    });
    auto const out = sinogram + (shape.offset(0, view.channels.view) + (first + guard_channels) * shape.width + row);
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      if (first + t >= shape.channels) return;
      packs.each([&](auto i) MBIRK_FLAT {
        index_t const left = shape.rows - row - i * B::lanes;
        B::store(out + (t * shape.width + i * B::lanes),
                 left >= B::lanes ? sum[t][i] : sum[t][i] * B::first_lanes(max<index_t>(left, 0)));
      });
    });
  }

  /// Adds pixels first, first + 1, ..., one per lane, to the four channels.
  template <class Packs>
  MBIRK_INLINE void add_pixels(Packs packs, multiaxis_taps const& view, index_t first, int count, double origin,
                               index_t row, pack (&sum)[gather_channels][Packs::max_value]) const noexcept {
    auto const number = [](double x) MBIRK_FLAT { return I::broadcast(x); };
    wide const i = I::to_wide(I::load_ints(rows + first)), j = I::to_wide(I::load_ints(cols + first));
    auto const distance = I::to_pack(
        fma(i, number(view.channels.row_step), fma(j, number(view.channels.col_step), number(origin))));
    wide const edge = fma(i, number(view.row_step), fma(j, number(view.col_step), number(view.edge)));
    // This warp's rows may not intersect the voxel column at all.
    double const travel = view.step * static_cast<double>(slices - 1), below = min(travel, 0.0),
        above = max(travel, 0.0) + view.width;
    wide const end = number(static_cast<double>(row + packs * B::lanes)), begin = number(static_cast<double>(row));
    auto const there = I::to_pack(select(edge + number(below) < end,
                                         select(begin < edge + number(above), number(1), number(0)), number(0)));
    auto const width = I::broadcast(static_cast<float>(view.channels.width)),
        chord = I::broadcast(view.channels.chord) * there * I::first_lanes(count);
    auto any = I::constant(0);
    typename I::pack weight[gather_channels];
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      weight[t] = chord * definition::overlap(distance + I::constant(0.5 * (gather_channels - 1) - t), width);
      any = any + weight[t];
    });
    auto const form = multiaxis_form<true>(view);
    for_each_set_bit(I::where(I::constant(0) < any), [&](int lane) MBIRK_FLAT {
      auto const column = voxel_columns + I::load_value(offsets + (first + lane));
      double const at = I::at(edge, lane);
      pack value[Packs::max_value];
      switch (form) {
        case resample_form::two_tap: find_rows<resample_form::two_tap>(packs, view, column, at, row, value); break;
        case resample_form::three_tap: find_rows<resample_form::three_tap>(packs, view, column, at, row, value); break;
        case resample_form::general: find_rows<resample_form::general>(packs, view, column, at, row, value); break;
      }
      simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
        pack const a = B::broadcast(I::at(weight[t], lane));
        packs.each([&](auto p) MBIRK_FLAT { sum[t][p] = fma(a, value[p], sum[t][p]); });
      });
    });
  }

  /// Resamples a voxel column onto rows from `row` on.
  template <resample_form Form, class Packs>
  MBIRK_INLINE void find_rows(Packs packs, multiaxis_taps const& view, typename B::template cursor<float const> column,
                              double edge, index_t row, pack (&value)[Packs::max_value]) const noexcept {
    auto const slice = [&](typename B::ints k) MBIRK_FLAT { return B::gather(column, k); };
    if constexpr (Form == resample_form::general) {
      gather_lanes<B, 1, true>(packs, gathered_taps::towards_rows(edge, view.step, view.width, slices), row, value,
                               slice);
    } else {
      lane_resampler<B, Form, 1> slices_of(multiaxis_lane_line<true, 1>(view, edge, row),
                                           static_cast<std::int32_t>(slices));
      slices_of.run(packs, value, slice);
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
