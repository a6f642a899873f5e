// General views: the footprints of a column of voxels in a view, for packs of slices and for packs of rows.
#pragma once

#include <cmath>

#include "mbirk/definition/general.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Lanes of a warp, where gathers are fast; on a processor, loads and permutations are faster.
inline constexpr int wide_gather_lanes = 32;

/// Footprints of a pack of voxels, as definition::voxel_footprint has them.
template <class I> struct voxel_footprints {
  typename I::wide channel, row;
  typename I::pack channel_width, row_width, amplitude;
};

/// A column of voxels in a view: its place at slice 0, see general_position.
struct general_column {
  double depth, channel, row;

  MBIRK_HD MBIRK_INLINE general_column(general_position const& v, double i, double j) noexcept
      : depth(at(v.depth, i, j)), channel(at(v.channel, i, j)), row(at(v.row, i, j)) {}

 private:
  MBIRK_HD static MBIRK_INLINE double at(voxel_affine const& a, double i, double j) noexcept {
    return a.base + a.row * i + a.col * j;
  }
};

/// Footprints of slices of a column, given as integers in double.
template <class I>
MBIRK_INLINE voxel_footprints<I> footprints_of(general_position const& v, general_column const& c,
                                               typename I::wide slice) noexcept {
  using pack = typename I::pack;
  auto const number = [](double x) MBIRK_FLAT { return I::broadcast(static_cast<float>(x)); };
  auto const line = [&](double slope, double start) MBIRK_FLAT {
    return fma(slice, I::broadcast(slope), I::broadcast(start));
  };
  auto const inverse = I::broadcast(1.0) / line(v.depth.slice, c.depth);
  voxel_footprints<I> f;
  f.channel = line(v.channel.slice, c.channel) * inverse;
  f.row = line(v.row.slice, c.row) * inverse;
  pack const n = I::to_pack(f.channel), m = I::to_pack(f.row), near = I::to_pack(inverse);
  // The gradients times the edges of a voxel are differences of steps, over the depth.
  auto const extent = [&](pack cell, voxel_affine const& a) MBIRK_FLAT {
    return max(max(abs(fnma(cell, number(v.depth.col), number(a.col))),
                   abs(fnma(cell, number(v.depth.row), number(a.row)))),
               abs(fnma(cell, number(v.depth.slice), number(a.slice))));
  };
  pack const wide = extent(n, v.channel), tall = extent(m, v.row), one = I::constant(1);
  pack const a = fma(n, number(v.across[1]), fma(m, number(v.across[2]), number(v.across[0]))),
             b = fma(m, number(v.along[1]), number(v.along[0]));
  f.channel_width = wide * near;
  f.row_width = tall * near;
  f.amplitude = number(v.scale) * sqrt(fma(a, a, one) * fma(b, b, one)) / (wide * tall);
  return f;
}

/// Cells of a footprint: at most `taps` of them, from a first one, all on the detector. Cells beside the footprint have
/// weight 0.
template <class I> struct footprint_cells {
  typename I::wide first;
  typename I::pack distance, width;  ///< from the first cell to the centre

  MBIRK_INLINE footprint_cells(typename I::wide centre, typename I::pack w, index_t cells, int taps) noexcept
      : width(w) {
    auto const edge = floor(definition::left_edge(centre, I::to_wide(w)));
    first = max(min(edge, I::broadcast(static_cast<double>(cells - taps))), I::broadcast(0.0));
    distance = I::to_pack(centre - first);
  }
  MBIRK_INLINE typename I::pack weight(int tap) const noexcept {
    return definition::overlap(distance - I::constant(tap), width);
  }
};

/// Back projection of one view into packs of slices of a column.
template <class B, int Power, bool Unit> struct general_slices {
  using I = typename B::index_backend;
  using pack = typename B::pack;

  index_t slices;
  chunked_shape shape;

  /// Taps in either direction that a view needs; 0 if they are more than three, or than the detector has cells.
  MBIRK_HD int short_taps(general_position const& v) const noexcept {
    int const taps = max(2, max(row_taps(v), channel_taps(v)));
    return taps <= 3 && shape.channels >= taps && shape.rows >= taps ? taps : 0;
  }
  /// Sum over a view, whose channel-major block y is, for slices k, k + 1, ...; any value beyond the last slice.
  MBIRK_INLINE pack sum(int short_form, general_position const& v, general_column const& c, index_t k,
                        typename B::template cursor<float const> y) const noexcept {
    return short_form == 2 ? sum_taps<2>(v, c, k, y) : short_form == 3 ? sum_taps<3>(v, c, k, y)
                                                                       : sum_taps<0>(v, c, k, y);
  }

  /// Taps: in either direction, or 0 for any number.
  template <int Taps>
  MBIRK_INLINE pack sum_taps(general_position const& v, general_column const& c, index_t k,
                             typename B::template cursor<float const> y) const noexcept {
    auto const slice = min(I::to_wide(I::iota()) + I::broadcast(static_cast<double>(k)),
                           I::broadcast(static_cast<double>(slices - 1)));
    auto const f = footprints_of<I>(v, c, slice);
    int const across = Taps > 0 ? Taps : channel_taps(v), down = Taps > 0 ? Taps : row_taps(v);
    footprint_cells<I> const n(f.channel, f.channel_width, shape.channels, across),
        m(f.row, f.row_width, shape.rows, down);
    auto const amplitude = raised(f.amplitude);
    if constexpr (Unit) {
      auto const total = [&](footprint_cells<I> const& cells, int taps) MBIRK_FLAT {
        auto sum = raised(cells.weight(0));
        for (int t = 1; t < taps; ++t) sum = sum + raised(cells.weight(t));
        return sum;
      };
      return B::lift(amplitude * total(n, across) * total(m, down));
    } else {
      if constexpr (Taps > 0 && B::lanes < wide_gather_lanes) {
        near_cells const cells(n, m);
        if (cells.template few<Taps>() && max(shape.rows, shape.channels) < (1 << 24))
          return B::lift(amplitude) * sum_near<Taps>(f, cells, m, y);
      }
      auto const first = I::to_ints(fma(n.first + I::broadcast(static_cast<double>(guard_channels)),
                                        I::broadcast(static_cast<double>(shape.width)), m.first));
      pack total = B::constant(0);
      if constexpr (Taps > 0) {
        pack weight[Taps];
        simd::unrolled<Taps>([&](auto t) MBIRK_FLAT { weight[t] = B::lift(raised(m.weight(t))); });
        simd::unrolled<Taps>([&](auto t) MBIRK_FLAT {
          auto const from = y + t * shape.width;
          pack column = weight[0] * B::gather(from, first);
          simd::unrolled<Taps - 1>([&](auto r) MBIRK_FLAT {
            column = fma(weight[r + 1], B::gather(from + (r + 1), first), column);
          });
          total = fma(B::lift(raised(n.weight(t))), column, total);
        });
      } else {
        for (int t = 0; t < across; ++t) {
          auto const from = y + t * shape.width;
          pack column = B::constant(0);
          for (int r = 0; r < down; ++r)
            column = fma(B::lift(raised(m.weight(r))), B::gather(from + r, first), column);
          total = fma(B::lift(raised(n.weight(t))), column, total);
        }
      }
      return B::lift(amplitude) * total;
    }
  }

 private:
  /// The first rows and channels of neighbouring slices.
  struct near_cells {
    typename I::pack rows;
    float first_row, last_row, first_channel, last_channel;
    MBIRK_INLINE near_cells(footprint_cells<I> const& n, footprint_cells<I> const& m) noexcept
        : rows(I::to_pack(m.first)), first_row(reduce_min<I>(rows)), last_row(reduce_max<I>(rows)) {
      auto const channels = I::to_pack(n.first);
      first_channel = reduce_min<I>(channels);
      last_channel = reduce_max<I>(channels);
    }
    /// Whether two packs hold all rows, and there are not many more channels than taps.
    template <int Taps> MBIRK_INLINE bool few() const noexcept {
      return last_row - first_row + Taps <= 2 * B::lanes && last_channel - first_channel <= Taps;
    }
  };
  /// Slices that see neighbouring rows: instead of gathering, loads two packs of rows per channel.
  template <int Taps>
  MBIRK_INLINE pack sum_near(voxel_footprints<I> const& f, near_cells const& cells, footprint_cells<I> const& m,
                             typename B::template cursor<float const> y) const noexcept {
    auto const place = B::to_ints(B::lift(cells.rows - I::broadcast(cells.first_row)));
    pack weight[Taps];
    simd::unrolled<Taps>([&](auto t) MBIRK_FLAT { weight[t] = B::lift(raised(m.weight(t))); });
    auto const distance = I::to_pack(f.channel - I::broadcast(static_cast<double>(cells.first_channel)));
    auto from = y + ((static_cast<index_t>(cells.first_channel) + guard_channels) * shape.width +
                     static_cast<index_t>(cells.first_row));
    int const channels = static_cast<int>(cells.last_channel - cells.first_channel) + Taps;
    pack total = B::constant(0);
    for (int c = 0; c < channels; ++c) {
      auto const near = B::load(from), far = B::load(from + B::lanes);
      from = from + shape.width;
      pack column = weight[0] * lookup2(near, far, place);
      simd::unrolled<Taps - 1>([&](auto t) MBIRK_FLAT {
        column = fma(weight[t + 1], lookup2(near, far, place + B::broadcast(static_cast<std::int32_t>(t + 1))), column);
      });
      auto const across = definition::overlap(distance - I::broadcast(static_cast<float>(c)), f.channel_width);
      total = fma(B::lift(raised(across)), column, total);
    }
    return total;
  }

  static MBIRK_INLINE typename I::pack raised(typename I::pack x) noexcept { return Power == 2 ? x * x : x; }
  MBIRK_HD static int taps_of(double width, index_t cells) noexcept {
    double const least = min(width, static_cast<double>(cells));
    return static_cast<int>(min(static_cast<index_t>(std::ceil(least)) + 1, cells));
  }
  MBIRK_HD int channel_taps(general_position const& v) const noexcept {
    return taps_of(v.channel_width, shape.channels);
  }
  MBIRK_HD int row_taps(general_position const& v) const noexcept { return taps_of(v.row_width, shape.rows); }
};

/// Forward projection of one column in a view onto packs of rows: which slices a row sees. The row of a slice is a
/// quotient of affine functions, so it grows or falls monotonically.
struct general_rows {
  double sign;            ///< 1 if rows grow with the slice, else -1
  double reach;           ///< half the height of the tallest footprint and of a row
  double channel_reach;   ///< the same across
  double low, high;       ///< bounds on the rows that the column reaches
  index_t count;          ///< slices that a row can see

  MBIRK_HD general_rows(general_position const& v, general_column const& c, index_t slices) noexcept {
    double const last = static_cast<double>(slices - 1), depth = c.depth + last * v.depth.slice,
                 far = c.row / c.depth, row = (c.row + last * v.row.slice) / depth, nearest = min(c.depth, depth);
    auto const extent = [&](double cell, voxel_affine const& a) {
      auto const size = [&](double step, double depth_step) {
        double const x = step - cell * depth_step;
        return x < 0 ? -x : x;
      };
      return max(max(size(a.col, v.depth.col), size(a.row, v.depth.row)), size(a.slice, v.depth.slice));
    };
    auto const slope = [&](double cell, double at) {
      double const x = (v.row.slice - cell * v.depth.slice) / at;
      return x < 0 ? -x : x;
    };
    double const n = c.channel / c.depth, n_last = (c.channel + last * v.channel.slice) / depth;
    sign = v.row.slice * c.depth < c.row * v.depth.slice ? -1 : 1;
    reach = 0.5 + 0.5 * max(extent(far, v.row), extent(row, v.row)) / nearest;
    channel_reach = 0.5 + 0.5 * max(extent(n, v.channel), extent(n_last, v.channel)) / nearest;
    low = min(far, row) - reach;
    high = max(far, row) + reach;
    // Slices of which less than 1e-7 of a cell is seen may be left out.
    double const least = min(slope(far, c.depth), slope(row, depth)), seen = 2 * reach - 1e-7 * least;
    count = seen < least * last ? static_cast<index_t>(std::ceil(seen / least)) : slices;
    count = max<index_t>(1, count);
  }

  /// First of the `count` slices that row m may see, for a wide or a double.
  template <class T>
  MBIRK_INLINE T first_slice(general_position const& v, general_column const& c, index_t slices, T m) const noexcept {
    using definition::floor;
    using definition::max;
    using definition::min;
    using definition::select;
    T const edge = m - T(sign * reach), rise = T(sign) * (T(v.row.slice) - edge * T(v.depth.slice));
    // Beyond the vanishing point of the column, all slices are on the same side.
    auto const before = T(0.0) < rise;
    T const slice = select(before, T(sign) * (edge * T(c.depth) - T(c.row)) / select(before, rise, T(1.0)),
                           T(v.depth.slice < 0 ? -1.0 : static_cast<double>(slices)));
    return max(min(floor(slice) + T(1.0), T(static_cast<double>(slices - count))), T(0.0));
  }
  /// Channels [first, end) that rows first_row .. last_row see.
  struct channel_range { index_t first, end; };
  MBIRK_HD channel_range channels(general_position const& v, general_column const& c, index_t slices, index_t all,
                                  double first_row, double last_row) const noexcept {
    double const a = first_slice(v, c, slices, first_row), b = first_slice(v, c, slices, last_row);
    auto const channel = [&](double k) {
      return (c.channel + k * v.channel.slice) / (c.depth + k * v.depth.slice);
    };
    double const n = channel(min(a, b)), other = channel(max(a, b) + static_cast<double>(count - 1)),
                 from = min(n, other) - channel_reach, to = max(n, other) + channel_reach;
    double const most = static_cast<double>(all);
    return {from > 0 ? static_cast<index_t>(min(from, most)) : 0,
            to > 0 ? static_cast<index_t>(std::ceil(min(to, most))) : 0};
  }
};

/// Contribution of a slice to a pack of rows: to the channel that is t after `base`, weight(t) value.
template <class B> struct general_tap {
  using I = typename B::index_backend;
  typename I::pack distance, width;
  typename B::pack value;

  MBIRK_INLINE general_tap(general_position const& v, general_column const& c, typename I::wide row,
                           typename I::wide slice, double base,
                           typename B::template cursor<float const> voxel_column) noexcept {
    auto const f = footprints_of<I>(v, c, slice);
    auto const weight = f.amplitude * definition::overlap(I::to_pack(f.row - row), f.row_width);
    value = B::lift(weight) * B::gather(voxel_column, I::to_ints(slice));
    distance = I::to_pack(f.channel - I::broadcast(base));
    width = f.channel_width;
  }
  MBIRK_INLINE typename B::pack at(index_t t, typename B::pack sum) const noexcept {
    auto const weight = definition::overlap(distance - I::broadcast(static_cast<float>(t)), width);
    return fma(B::lift(weight), value, sum);
  }
};

/// Calls f(taps of the rows: an array of N) for N of the slices that a pack of rows sees, at most three at a time.
template <class B, class F>
MBIRK_INLINE void each_taps(general_rows const& rows, general_position const& v, general_column const& c,
                            index_t slices, index_t row, double base,
                            typename B::template cursor<float const> voxel_column, F const& f) noexcept {
  using I = typename B::index_backend;
  auto const m = I::to_wide(I::iota()) + I::broadcast(static_cast<double>(row));
  auto const first = rows.first_slice(v, c, slices, m);
  auto const tap = [&](index_t t) MBIRK_FLAT {
    return general_tap<B>(v, c, m, first + I::broadcast(static_cast<double>(t)), base, voxel_column);
  };
  index_t t = 0;
  for (; t + 3 <= rows.count; t += 3) {
    general_tap<B> const taps[] = {tap(t), tap(t + 1), tap(t + 2)};
    f(taps);
  }
  if (rows.count - t == 2) {
    general_tap<B> const taps[] = {tap(t), tap(t + 1)};
    f(taps);
  } else if (rows.count - t == 1) {
    general_tap<B> const taps[] = {tap(t)};
    f(taps);
  }
}

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
