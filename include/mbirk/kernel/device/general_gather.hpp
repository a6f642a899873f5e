// Projection of general views on a device, one warp per task. Back projection: a task owns a pixel over a range of the
// slices, with accumulators in registers over all views; lanes are slices. Forward projection: a task owns four
// channels of one view over a range of the rows; lanes are sets of groups, then groups, then pixels of a
// group, then rows.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/device/gather_bounds.hpp"
#include "mbirk/kernel/device/lane_resample.hpp"
#include "mbirk/kernel/shared/general_column.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Power: exponent of the weights. Unit: the sinogram is 1 everywhere and is not read (Hessian diagonal).
template <class B, int Power, bool Unit> struct general_back_gather {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  static constexpr int most_packs = 4;

  general_slices<B, Power, Unit> column;
  typename B::template cursor<float const> sinogram;           // channel-major, one chunk; unused if Unit
  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<general_position const> views;
  index_t pixels;
  pack_pieces pieces;                                          // pieces of the slices

  index_t tasks() const noexcept { return pixels * pieces.count(); }

  /// Tasks are (pixel, piece).
  MBIRK_HD void operator()(index_t task) const noexcept {
    with_packs<B, most_packs>(pieces.packs_of(task % pieces.count()), [&](auto packs) MBIRK_FLAT {
      project(packs, task / pieces.count(), pieces.first(task % pieces.count()));
    });
  }

 private:
  template <class Packs> MBIRK_HD void project(Packs packs, index_t p, index_t slice) const noexcept {
    double const i = I::load_value(rows + p), j = I::load_value(cols + p);
    pack sum[Packs::max_value];
    packs.each([&](auto n) MBIRK_FLAT { sum[n] = B::constant(0); });
    bool const empty = column.slices == 0 || column.shape.channels == 0 || column.shape.rows == 0;
    for (index_t v = 0; v < (empty ? 0 : column.shape.views); ++v) {
      auto const view = I::load_value(views + v);
      general_column const c(view, i, j);
      auto const y = Unit ? sinogram : sinogram + column.shape.offset(0, v);
      int const taps = column.short_taps(view);
      packs.each([&](auto n) MBIRK_FLAT { sum[n] = sum[n] + column.sum(taps, view, c, slice + n * B::lanes, y); });
    }
    auto const out = voxel_columns + (I::load_value(offsets + p) + slice);
    packs.each([&](auto n) MBIRK_FLAT {
      index_t const left = column.slices - slice - n * B::lanes;
      if (left > 0) store_lanes<B>(out + n * B::lanes, sum[n], min<index_t>(left, B::lanes));
    });
  }
};

template <class B> struct general_gather {
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
  typename I::template cursor<general_position const> views;
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
        first = task / all % quads * gather_channels, row = pieces.first(task % all), v = task / all / quads;
    auto const view = I::load_value(views + v);
    int const looked_at = slices > 0 && shape.rows > 0 ? static_cast<int>(groups.size()) : 0;

    pack sum[gather_channels][Packs::max_value];
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      packs.each([&](auto n) MBIRK_FLAT { sum[t][n] = B::constant(0); });
    });
    auto const there = [&](int g, int count) MBIRK_FLAT { return boxes_that_reach(view, g, count, first); };
    visit_groups<I>(groups, looked_at, there, [&](index_t pixel, int count) MBIRK_FLAT {
      add_pixels(packs, view, pixel, count, first, row, sum);
    });
    auto const out = sinogram + (shape.offset(0, v) + (first + guard_channels) * shape.width + row);
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      if (first + t >= shape.channels) return;
      packs.each([&](auto n) MBIRK_FLAT {
        index_t const left = shape.rows - row - n * B::lanes;
        B::store(out + (t * shape.width + n * B::lanes),
                 left >= B::lanes ? sum[t][n] : sum[t][n] * B::first_lanes(max<index_t>(left, 0)));
      });
    });
  }

  /// Lowest and highest cell of slices 0 and S - 1 of the pixels (i, j) or of a box around pixels.
  struct reached { wide low, high; };
  MBIRK_INLINE reached cells_of(general_position const& view, voxel_affine const& a, wide i, wide j) const noexcept {
    auto const number = [](double x) MBIRK_FLAT { return I::broadcast(x); };
    auto const plane = [&](voxel_affine const& of) MBIRK_FLAT {
      return fma(i, number(of.row), fma(j, number(of.col), number(of.base)));
    };
    double const last = static_cast<double>(slices - 1);
    wide const depth = plane(view.depth), cell = plane(a), one = cell / depth,
               other = (cell + number(last * a.slice)) / (depth + number(last * view.depth.slice));
    return {min(one, other), max(one, other)};
  }
  /// 1 where cells first .. last may be within the widest footprint of [low, high], else 0.
  MBIRK_INLINE typename I::pack meets(reached const& r, double width, double first, double last) const noexcept {
    double const half = 0.5 * width + 0.5;
    auto const one = I::broadcast(1.0), none = I::broadcast(0.0);
    return I::to_pack(select(r.low < I::broadcast(last + half),
                             select(I::broadcast(first - half) < r.high, one, none), none));
  }

  /// Bit mask of the boxes g .. g + 31, of which `count` exist, that can reach this warp's channels (conservative). All
  /// of them are before the source, because the reconstruction is.
  MBIRK_INLINE unsigned boxes_that_reach(general_position const& view, int g, int count, index_t first) const noexcept {
    auto const half = I::broadcast(0.5);
    wide const i = I::to_wide(I::load_ints(boxes.doubled_row_center + g)) * half,
               j = I::to_wide(I::load_ints(boxes.doubled_col_center + g)) * half,
               di = I::to_wide(I::load_ints(boxes.row_extent + g)) * half,
               dj = I::to_wide(I::load_ints(boxes.col_extent + g)) * half;
    auto all = cells_of(view, view.channel, i - di, j - dj);
    auto const add = [&](wide row, wide col) MBIRK_FLAT {
      auto const r = cells_of(view, view.channel, row, col);
      all = {min(all.low, r.low), max(all.high, r.high)};
    };
    add(i - di, j + dj);
    add(i + di, j - dj);
    add(i + di, j + dj);
    auto const there = meets(all, view.channel_width, static_cast<double>(first),
                             static_cast<double>(first + gather_channels - 1));
    return I::where(I::constant(0) < I::first_lanes(count) * there);
  }

  /// Adds pixels first_pixel, first_pixel + 1, ..., one per lane, to the four channels.
  template <class Packs>
  MBIRK_INLINE void add_pixels(Packs packs, general_position const& view, index_t first_pixel, int count, index_t first,
                               index_t row, pack (&sum)[gather_channels][Packs::max_value]) const noexcept {
    auto const rows_of = I::load_ints(rows + first_pixel), cols_of = I::load_ints(cols + first_pixel);
    wide const i = I::to_wide(rows_of), j = I::to_wide(cols_of);
    auto const there = meets(cells_of(view, view.channel, i, j), view.channel_width, static_cast<double>(first),
                             static_cast<double>(first + gather_channels - 1)) *
        meets(cells_of(view, view.row, i, j), view.row_width, static_cast<double>(row),
              static_cast<double>(row + packs * B::lanes - 1)) * I::first_lanes(count);
    for_each_set_bit(I::where(I::constant(0) < there), [&](int lane) MBIRK_FLAT {
      general_column const c(view, I::at(rows_of, lane), I::at(cols_of, lane));
      general_rows const seen(view, c, slices);
      auto const x = voxel_columns + I::load_value(offsets + (first_pixel + lane));
      packs.each([&](auto n) MBIRK_FLAT {
        each_taps<B>(seen, view, c, slices, row + n * B::lanes, static_cast<double>(first), x,
                     [&](auto const& taps) MBIRK_FLAT {
          simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
            for (auto const& tap : taps) sum[t][n] = tap.at(t, sum[t][n]);
          });
        });
      });
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
