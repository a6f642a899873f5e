// Cone forward projection on a device: a task, run by one warp, owns four channels of one view over a range of the rows
// and accumulates them in registers. Lanes are groups, then pixels of a group, then rows, onto which the voxel columns
// of the pixels found are resampled.
#pragma once

#include "mbirk/geometry/scan.hpp"
#include "mbirk/kernel/device/gather_bounds.hpp"
#include "mbirk/kernel/device/lane_resample.hpp"
#include "mbirk/kernel/shared/cone_taps.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Sums of four channels of a view over a range of the rows; derived kernels find the pixels.
template <class B> struct cone_gather_sums {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using wide = typename I::wide;
  static constexpr int most_packs = 4;

  cone_geometry geometry;
  typename B::template cursor<float const> voxel_columns;
  typename B::template cursor<float> sinogram;                 // channel-major, one chunk
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<view_position const> positions;
  typename B::template cursor<float const> elevations;  // t_k of every slice
  index_t elevation_stride;                             // between views
  chunked_shape shape;
  pack_pieces pieces;                                   // pieces of the detector rows

  /// Tasks are (view, four channels, piece).
  index_t tasks() const noexcept { return shape.views * ceil_div(shape.channels, gather_channels) * pieces.count(); }

 protected:
  /// Channels, rows and view that a warp owns.
  struct place {
    index_t view, first, row;  // first channel, first row
    view_position at;
    typename B::template cursor<float const> elevations;
  };

  /// Calls find(packs, place, sums) with sums of zero, and stores them.
  template <class Find> MBIRK_INLINE void run(index_t task, Find const& find) const noexcept {
    with_packs<B, most_packs>(pieces.packs_of(task % pieces.count()), [&](auto packs) MBIRK_FLAT {
      index_t const all = pieces.count(), quads = ceil_div(shape.channels, gather_channels), v = task / all / quads;
      place const own{v, task / all % quads * gather_channels, pieces.first(task % all), I::load_value(positions + v),
                      elevations + v * elevation_stride};
      pack sum[gather_channels][decltype(packs)::max_value];
      simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
        packs.each([&](auto i) MBIRK_FLAT { sum[t][i] = B::constant(0); });
      });
      find(packs, own, sum);
      auto const out = sinogram + (shape.offset(0, v) + (own.first + guard_channels) * shape.width + own.row);
      simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
        if (own.first + t >= shape.channels) return;
        packs.each([&](auto i) MBIRK_FLAT {
          index_t const left = shape.rows - own.row - i * B::lanes;
          B::store(out + (t * shape.width + i * B::lanes),
                   left >= B::lanes ? sum[t][i] : sum[t][i] * B::first_lanes(left));
        });
      });
    });
  }

  /// Adds the first `count` of 32 pixels (i, j), one per lane, to the four channels. pixel_of(lane): place of a lane's
  /// pixel in the plan.
  template <class Packs, class PixelOf>
  MBIRK_INLINE void add_pixels(Packs packs, place const& own, typename I::ints i, typename I::ints j, index_t count,
                               PixelOf const& pixel_of, pack (&sum)[gather_channels][Packs::max_value]) const noexcept {
    auto const number = [](double x) MBIRK_FLAT { return I::broadcast(x); };
    cone_footprints<I> const footprints(geometry, own.at, 0);
    auto const f = footprints.of(i, j);
    wide const step = number(1) / f.row_width,
        start = (number(static_cast<double>(own.row)) - footprints.row_edge(f)) * step;
    // This warp's rows may not intersect the voxel column at all.
    wide const end = fma(step, number(packs * B::lanes), start), slices = number(static_cast<double>(geometry.slices));
    wide const chord = select(start < slices, select(number(0) < end, f.channel.chord, number(0)), number(0));
    wide const distance = f.channel.centre - number(static_cast<double>(own.first));
    auto const square = I::to_pack(f.magnification * f.magnification), scale = I::to_pack(f.row_width),
        listed = I::first_lanes(count);
    auto any = I::constant(0);
    typename I::pack weight[gather_channels];
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      weight[t] = I::to_pack(definition::overlap(distance - number(t), f.channel.width) * chord) * listed;
      any = any + weight[t];
    });
    for_each_set_bit(I::where(I::constant(0) < any), [&](int lane) MBIRK_FLAT {
      auto const cylinder = voxel_columns + I::load_value(offsets + pixel_of(lane));
      pack const magnified = B::broadcast(I::at(square, lane));
      lane_line const line = make_line(I::at(start, lane), I::at(step, lane), I::at(scale, lane));
      pack value[Packs::max_value];
      switch (line.form) {
        case resample_form::two_tap:
          find_rows<resample_form::two_tap>(packs, own, cylinder, magnified, line, value);
          break;
        case resample_form::three_tap:
          find_rows<resample_form::three_tap>(packs, own, cylinder, magnified, line, value);
          break;
        case resample_form::general:
          find_rows<resample_form::general>(packs, own, cylinder, magnified, line, value);
          break;
      }
      simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
        pack const a = B::broadcast(I::at(weight[t], lane));
        packs.each([&](auto i) MBIRK_FLAT { sum[t][i] = fma(a, value[i], sum[t][i]); });
      });
    });
  }

 private:
  /// Resamples a voxel column, times the secants of its slices, to means over rows.
  template <resample_form Form, class Packs>
  MBIRK_INLINE void find_rows(Packs packs, place const& own, typename B::template cursor<float const> cylinder,
                              pack square, lane_line const& line, pack (&value)[Packs::max_value]) const noexcept {
    lane_resampler<B, Form, 1> slices(line, static_cast<std::int32_t>(geometry.slices));
    slices.run(packs, value, [&](typename B::ints k) MBIRK_FLAT {
      return B::gather(cylinder, k) * definition::elevation_secant(square, B::gather(own.elevations, k));
    });
  }
};

template <class B> struct cone_gather : cone_gather_sums<B> {
  using base = cone_gather_sums<B>;
  using I = typename B::index_backend;
  using wide = typename I::wide;

  // Bounding boxes of the groups (group_bounds).
  typename I::template cursor<std::int32_t const> doubled_row_center, row_extent, doubled_col_center, col_extent;
  device_span<pixel_group> groups;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const looked_at = this->geometry.slices > 0 ? groups.size() : 0;
    this->run(task, [&](auto packs, typename base::place const& own, auto& sum) MBIRK_FLAT {
      for (index_t g = 0; g < looked_at; g += B::lanes) {
        for_each_set_bit(groups_that_reach(own, g), [&](int lane) MBIRK_FLAT {
          pixel_group const group = groups[g + lane];
          for (int k = 0; k < group.count; k += B::lanes) {
            index_t const first = group.first + k;
            this->add_pixels(packs, own, I::load_ints(this->rows + first), I::load_ints(this->cols + first),
                             group.count - k, [&](int pixel) MBIRK_FLAT { return first + pixel; }, sum);
          }
        });
      }
    });
  }

 private:
  /// Bit mask of the groups g..g+31 whose bounding box can reach this warp's channels (conservative).
  MBIRK_INLINE unsigned groups_that_reach(typename base::place const& own, index_t g) const noexcept {
    cone_geometry const& geometry = this->geometry;
    auto const number = [](double x) MBIRK_FLAT { return I::broadcast(x); };
    auto const half = [&](auto values) MBIRK_FLAT { return I::to_wide(I::load_ints(values + g)) * number(0.5); };
    double const cosine = own.at.cosine, sine = own.at.sine, across = definition::abs(cosine),
        along = definition::abs(sine);
    wide const x = definition::column_x(geometry, half(doubled_col_center), own.at.column_shift),
        y = definition::row_y(geometry, half(doubled_row_center), own.at.row_shift);
    wide const half_x = half(col_extent) * number(geometry.delta_x),
        half_y = half(row_extent) * number(geometry.delta_y);
    wide const middle = number(cosine) * x - number(sine) * y, reach = number(across) * half_x + number(along) * half_y;
    wide const low = middle - reach, high = middle + reach;

    wide const inverse = number(geometry.inverse_detector_dist), zero = number(0), one = number(1),
        first = number(static_cast<double>(own.first));
    wide const depth = number(geometry.inverse_magnification) - (number(sine) * x + number(cosine) * y) * inverse;
    wide const deep = (number(along) * half_x + number(across) * half_y) * inverse;
    // If part of the box is beside the source, its footprint may be anywhere.
    auto const before = number(1e-9) < depth - deep;
    // Bounds of the magnification.
    wide const most = one / select(before, depth - deep, one), fewest = one / select(before, depth + deep, one);
    wide const left = low * select(low < zero, most, fewest), right = high * select(high < zero, fewest, most);
    wide const slope = max(abs(left), abs(right)) * inverse;
    wide const extent_x = (number(across) + number(along) * slope) * number(geometry.delta_x);
    wide const extent_y = (number(along) + number(across) * slope) * number(geometry.side_extent);
    wide const overlap = (most * max(extent_x, extent_y) * number(1.0 / geometry.delta_det_channel) + one) *
        number(0.5);
    auto const channel = [&](wide u) MBIRK_FLAT {
      if (geometry.curved) u = atan(u * inverse) * number(1.0 / geometry.inverse_detector_dist);
      return definition::detector_cell(u, geometry.det_channel_offset, geometry.delta_det_channel, geometry.channels) -
             first;
    };
    wide const reaches = select(channel(left) - overlap < number(gather_channels - 1),
                                select(zero < channel(right) + overlap, one, zero), zero);
    return I::where(I::constant(0) < I::first_lanes(groups.size() - g) * I::to_pack(select(before, reaches, one)));
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
