// General views on the host: footprints of a column of voxels whose rows grow or fall by about one per slice.
//
// Lane l of a pack of slices then sees the rows base + l, base + l + 1, ... of a few taps, and lane l of a pack of rows
// the slices base + l, base + l + 1, ...: both projections load neighbours, without lookups or gathers. Positions are
// taken relative to the base in double, once per pack, so that the rest is exact enough in float.
#pragma once

#include <cmath>

#include "mbirk/kernel/shared/general_column.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// A column of voxels in a view, with its slices in the order of growing rows: slice k has the depth
/// depth + k depth_step, by which its channel and row, of the same form, are divided.
struct general_line {
  bool reversed;  ///< slice k here is slice `last` - k of the volume
  double last, depth, depth_step, channel, channel_step, row, row_step;

  MBIRK_HD MBIRK_INLINE general_line(general_position const& v, general_column const& c, index_t slices,
                                     bool is_reversed) noexcept
      : reversed(is_reversed),
        last(static_cast<double>(slices - 1)),
        depth(c.depth),
        depth_step(v.depth.slice),
        channel(c.channel),
        channel_step(v.channel.slice),
        row(c.row),
        row_step(v.row.slice) {
    if (!reversed) return;
    auto const turn = [&](double& start, double& step) {
      start += last * step;
      step = -step;
    };
    turn(depth, depth_step);
    turn(channel, channel_step);
    turn(row, row_step);
  }
  /// Whether the rows of a column fall with its slices.
  MBIRK_HD static bool falls(general_position const& v, general_column const& c) noexcept {
    return v.row.slice * c.depth < c.row * v.depth.slice;
  }
};

/// Extent along one edge of the voxels, times the squared depth: |start + k step| for slice k.
struct edge_line { double start, step; };

/// Edges of the voxels of a line along one direction of the detector.
struct edge_lines {
  edge_line of[3];  ///< along the columns, rows and slices; the last one has no step

  MBIRK_HD MBIRK_INLINE edge_lines(voxel_affine const& cell, voxel_affine const& depth, double start, double step,
                                   general_line const& at) noexcept
      : of{{cell.col * at.depth - start * depth.col, cell.col * at.depth_step - step * depth.col},
           {cell.row * at.depth - start * depth.row, cell.row * at.depth_step - step * depth.row},
           {step * at.depth - start * at.depth_step, 0}} {}
};

/// What is common to lines of a view, for packs of `Lanes` slices or rows: how far they reach, and which edge of the
/// voxels is the longest. The bounds of all pixels in a box are those of its corners, because depths and edges are
/// affine in the indices of a voxel.
template <int Lanes> struct line_bounds {
  /// Loads beside the rows of a view must stay within the guards of its channels.
  static constexpr int most_taps = Lanes < 6 ? 2 * Lanes : 12;
  static constexpr double half = 0.5 * (Lanes - 1);  ///< from the first lane of a pack to its middle

  bool fits = true, reversed = false;
  double row_reach = 0;      ///< half of the rows of the taps of a pack of slices
  double channel_reach = 0;
  double slice_reach = 0;    ///< half of the slices of the taps of a pack of rows
  double row_height = 0;     ///< half the height of the tallest footprint and of a row
  double channel_slope = 0;  ///< at most, per slice
  int row_taps = 0, slice_taps = 0;
  index_t channels = 0;      ///< of a pack of slices, at most those of the detector
  /// The longest edges along the channels and the rows and their signs, if they are the same for all slices.
  bool one_edge = true;
  int wide = 0, tall = 0;
  double wide_sign = 1, tall_sign = 1;

  /// Bounds of the pixels i[0] <= i <= i[1], j[0] <= j <= j[1].
  MBIRK_HD line_bounds(general_position const& v, double const (&i)[2], double const (&j)[2], index_t slices,
                       chunked_shape const& shape) noexcept {
    double least = 1e300, most = 0, slowest = 1e300, fastest = 0, travel = 0, height = 0, width = 0, side = 0;
    for (int corner = 0; corner < 4; ++corner) {
      general_column const c(v, i[corner & 1], j[corner >> 1]);
      if (corner == 0) reversed = general_line::falls(v, c);
      if (general_line::falls(v, c) != reversed) fits = false;
      general_line const at(v, c, slices, reversed);
      // Lanes beyond the last slice are computed, too.
      double const other = at.depth + at.last * at.depth_step, beyond = other + (Lanes - 1) * at.depth_step;
      least = min(least, min(at.depth, min(other, beyond)));
      most = max(most, max(at.depth, other));
      edge_lines const across(v.channel, v.depth, at.channel, at.channel_step, at),
          along(v.row, v.depth, at.row, at.row_step, at);
      find_longest(across, at.last, corner == 0, wide, wide_sign, width);
      find_longest(along, at.last, corner == 0, tall, tall_sign, height);
      double const rise = along.of[2].start;
      slowest = min(slowest, rise);
      fastest = max(fastest, rise);
      travel = max(travel, size(across.of[2].start));
      side = max(side, max(max(size(at.row), size(at.row + at.last * at.row_step)),
                           max(size(at.channel), size(at.channel + at.last * at.channel_step))));
    }
    // Tangents of rays that are not far from those of the corners are at most this large.
    double const cells = 4 * most_cells;
    double const tangent = max(size(v.across[0]) + cells * (size(v.across[1]) + size(v.across[2])),
                               size(v.along[0]) + cells * size(v.along[1]));
    constexpr double small = 0x1p-10, large = 0x1p10;
    double const near_square = least * least, far_square = most * most;
    fits = fits && small < least && most < large && side < most_cells * least && tangent < 0x1p20 &&
        far_square * small < slowest && height < large * near_square && width < large * near_square &&
        far_square * small < height && far_square * small < width;
    if (!fits) return;
    height /= near_square;
    width /= near_square;
    // Rows per slice are rise / depth^2, and channels alike.
    double const low = slowest / far_square, high = fastest / near_square;
    constexpr double rounding = 1e-6;  // of positions in float, relative to the cells of the taps
    channel_slope = travel / near_square;
    row_height = 0.5 + 0.5 * height;
    row_reach = (half * max(size(low - 1), size(high - 1)) + row_height) * (1 + rounding) - 0.5;
    channel_reach = (half * channel_slope + 0.5 + 0.5 * width) * (1 + rounding) - 0.5;
    slice_reach =
        (max(half, row_height) * max(size(1 / low - 1), size(1 / high - 1)) + row_height / low) * (1 + rounding);
    fits = 2 * row_reach + 1 < most_taps && 2 * slice_reach + 1 < most_taps;
    if (!fits) return;
    row_taps = static_cast<int>(std::ceil(2 * row_reach)) + 1;
    slice_taps = static_cast<int>(2 * slice_reach) + 1;
    channels = min(static_cast<index_t>(std::ceil(2 * channel_reach)) + 1, shape.channels);
  }

 private:
  static constexpr double most_cells = 1 << 20;
  MBIRK_HD static double size(double x) noexcept { return x < 0 ? -x : x; }

  /// An edge that is the longest at both ends of the lines in all corners, without a change of sign, is so everywhere:
  /// its length is affine there, and those of the others are convex.
  MBIRK_HD void find_longest(edge_lines const& edges, double last, bool first, int& best, double& sign,
                             double& longest) noexcept {
    auto const value = [&](int e, double k) { return edges.of[e].start + k * edges.of[e].step; };
    if (first) {
      for (int e = 1; e < 3; ++e)
        if (size(value(best, 0)) < size(value(e, 0))) best = e;
      sign = value(best, 0) < 0 ? -1 : 1;
    }
    one_edge = one_edge && 0 < sign * value(best, last + Lanes - 1);
    for (int end = 0; end < 2; ++end) {
      double const k = end * last, length = sign * value(best, k);
      for (int e = 0; e < 3; ++e) {
        one_edge = one_edge && size(value(e, k)) <= length;
        longest = max(longest, size(value(e, k)));
      }
    }
  }
};

/// Row and column of a pixel.
struct grid_place { std::int32_t i, j; };

/// Calls f(bounds, first pixel, end) for pixels of a group in a view: all of a tile together, those of a list one by
/// one.
template <int Lanes, class Place, class F>
MBIRK_INLINE void each_bounds(pixel_group const& group, general_position const& v, index_t slices,
                              chunked_shape const& shape, Place const& place, F const& f) noexcept {
  auto const bounds_of = [&](grid_place const& from, grid_place const& to) {
    double const i[] = {static_cast<double>(from.i), static_cast<double>(to.i)},
                 j[] = {static_cast<double>(from.j), static_cast<double>(to.j)};
    return line_bounds<Lanes>(v, i, j, slices, shape);
  };
  if (group.tile_mask != 0) {
    auto from = place(0);
    from.i = from.i / tile_side * tile_side;
    from.j = from.j / tile_side * tile_side;
    auto to = from;
    to.i += tile_side - 1;
    to.j += tile_side - 1;
    auto const bounds = bounds_of(from, to);
    if (bounds.fits) return f(bounds, 0, group.count);
  }
  for (int p = 0; p < group.count; ++p) f(bounds_of(place(p), place(p)), p, p + 1);
}

/// Footprints of a pack of slices: channel and row are relative to those that the pack begins with, the row of lane l
/// also to l.
template <class I> struct line_footprints {
  typename I::pack channel, channel_width, row, row_width, amplitude;
};

/// Footprints of the lines of one view, pack by pack of slices.
template <class B> struct general_packs {
  using I = typename B::index_backend;
  using pack = typename I::pack;
  using wide = typename I::wide;
  using bounds = line_bounds<B::lanes>;

  index_t slices;
  chunked_shape shape;
  scratch_part floats{}, ints{};

  MBIRK_HD index_t packs() const noexcept { return max<index_t>(1, ceil_div(slices, B::lanes)); }
  MBIRK_HD index_t table() const noexcept { return ceil_div(packs(), I::lanes) * I::lanes; }
  void plan_scratch(scratch_layout& layout) {
    floats = layout.add<float>("starts and steps of packs", 5 * table());
    ints = layout.add<std::int32_t>("first rows and channels of packs", 2 * table());
  }

  /// What a pack begins with, one array per quantity, `size` apart.
  template <class Floats, class Ints> struct begun_packs {
    Floats depth;
    Ints row;
    index_t size;
    MBIRK_INLINE Floats row_start() const noexcept { return depth + size; }
    MBIRK_INLINE Floats row_step() const noexcept { return depth + 2 * size; }
    MBIRK_INLINE Floats channel_start() const noexcept { return depth + 3 * size; }
    MBIRK_INLINE Floats channel_step() const noexcept { return depth + 4 * size; }
    MBIRK_INLINE Ints channel() const noexcept { return row + size; }
  };
  template <class Scratch> MBIRK_INLINE auto begun(Scratch const& s) const noexcept {
    auto const f = s.template at<float>(floats);
    auto const i = s.template at<std::int32_t>(ints);
    return begun_packs<std::remove_const_t<decltype(f)>, std::remove_const_t<decltype(i)>>{f, i, table()};
  }

  /// Computes where the packs of a line begin.
  template <class Scratch>
  MBIRK_INLINE void prepare(bounds const& reached, general_line const& at, Scratch const& s) const noexcept {
    auto const to = begun(s);
    auto const number = [](double x) MBIRK_FLAT { return I::broadcast(x); };
    auto const along = [&](wide slice, double start, double step) MBIRK_FLAT {
      return fma(slice, number(step), number(start));
    };
    for (index_t p = 0; p < packs(); p += I::lanes) {
      wide const k = (I::to_wide(I::iota()) + number(static_cast<double>(p))) * number(B::lanes);
      // From the first slice to the middle of the pack; the last pack may have fewer slices.
      wide const away = min(number(bounds::half), number(at.last) - k), middle = k + away;
      wide const inverse = number(1.0) / along(middle, at.depth, at.depth_step);
      wide const row = floor(fma(along(middle, at.row, at.row_step), inverse, number(0.5 - reached.row_reach) - away));
      wide const channel = max(min(floor(fma(along(middle, at.channel, at.channel_step), inverse,
                                             number(0.5 - reached.channel_reach))),
                                   number(static_cast<double>(shape.channels - reached.channels))), number(0.0));
      wide const depth = along(k, at.depth, at.depth_step), step = number(-at.depth_step), back = number(0.0) - depth;
      I::store(to.depth + p, I::to_pack(depth));
      I::store(to.row_start() + p, I::to_pack(fma(row, back, along(k, at.row, at.row_step))));
      I::store(to.row_step() + p, I::to_pack(fma(row, step, number(at.row_step) - depth)));
      I::store(to.channel_start() + p, I::to_pack(fma(channel, back, along(k, at.channel, at.channel_step))));
      I::store(to.channel_step() + p, I::to_pack(fma(channel, step, number(at.channel_step))));
      I::store(to.row + p, I::to_ints(row));
      I::store(to.channel() + p, I::to_ints(channel));
    }
  }

  /// Numbers of a line that all its packs use, in packs, because a pack is an operand and a number is not.
  template <int Edges> struct constants {
    pack lanes, depth_step, scale, across, across_step, along, along_step;
    pack wide[Edges], wide_step[Edges], tall[Edges], tall_step[Edges];

    MBIRK_INLINE constants(general_position const& v, bounds const& reached, general_line const& at) noexcept
        : lanes(I::to_pack(I::to_wide(I::iota()))),
          depth_step(number(at.depth_step)),
          scale(number(v.scale)),
          across(number(v.across[0] * at.depth + v.across[1] * at.channel + v.across[2] * at.row)),
          across_step(number(v.across[0] * at.depth_step + v.across[1] * at.channel_step + v.across[2] * at.row_step)),
          along(number(v.along[0] * at.depth + v.along[1] * at.row)),
          along_step(number(v.along[0] * at.depth_step + v.along[1] * at.row_step)) {
      edge_lines const across_edges(v.channel, v.depth, at.channel, at.channel_step, at),
          along_edges(v.row, v.depth, at.row, at.row_step, at);
      auto const set = [](pack& start, pack& step, edge_line const& edge, double sign) MBIRK_FLAT {
        start = number(sign * edge.start);
        step = number(sign * edge.step);
      };
      if constexpr (Edges == 1) {
        set(wide[0], wide_step[0], across_edges.of[reached.wide], reached.wide_sign);
        set(tall[0], tall_step[0], along_edges.of[reached.tall], reached.tall_sign);
      } else {
        for (int e = 0; e < 3; ++e) {
          set(wide[e], wide_step[e], across_edges.of[e], 1);
          set(tall[e], tall_step[e], along_edges.of[e], 1);
        }
      }
    }

   private:
    static MBIRK_INLINE pack number(double x) noexcept { return I::broadcast(static_cast<float>(x)); }
  };

  /// Footprints of pack p, also of the slices beyond the last one. Edges: 1, or 3 if the longest edge changes.
  template <int Edges, class Begun>
  MBIRK_INLINE line_footprints<I> at(constants<Edges> const& of, Begun const& begun, index_t p) const noexcept {
    pack const l = of.lanes, k = l + I::broadcast(static_cast<float>(p * B::lanes));
    pack const depth = fma(l, of.depth_step, I::load_broadcast(begun.depth + p)), inverse = I::constant(1) / depth,
               square = depth * depth, inverse_square = inverse * inverse;
    auto const extent = [&](pack const (&start)[Edges], pack const (&step)[Edges]) MBIRK_FLAT {
      if constexpr (Edges == 1) return fma(k, step[0], start[0]);
      else return max(max(abs(fma(k, step[0], start[0])), abs(fma(k, step[1], start[1]))), abs(start[2]));
    };
    pack const wide_extent = extent(of.wide, of.wide_step), tall = extent(of.tall, of.tall_step);
    pack const a = fma(k, of.across_step, of.across), b = fma(k, of.along_step, of.along);
    // With f = row - (base + l) depth, quadratic in l, the row relative to base + l is f / depth.
    pack const rise = fnma(l, of.depth_step, I::load_broadcast(begun.row_step() + p));
    pack const channel =
        fma(l, I::load_broadcast(begun.channel_step() + p), I::load_broadcast(begun.channel_start() + p));
    return {.channel = channel * inverse,
            .channel_width = wide_extent * inverse_square,
            .row = fma(l, rise, I::load_broadcast(begun.row_start() + p)) * inverse,
            .row_width = tall * inverse_square,
            .amplitude = of.scale * sqrt(fma(a, a, square) * fma(b, b, square)) / (wide_extent * tall)};
  }
};

/// Overlaps of cells with a footprint, computed from what does not depend on the cell: definition::overlap.
template <class I> struct cell_overlaps {
  typename I::pack reach, most;
  MBIRK_INLINE explicit cell_overlaps(typename I::pack width) noexcept
      : reach(fma(width, I::constant(0.5), I::constant(0.5))), most(min(width, I::constant(1))) {}
  MBIRK_INLINE cell_overlaps(typename I::pack r, typename I::pack m) noexcept : reach(r), most(m) {}
  MBIRK_INLINE typename I::pack at(typename I::pack distance) const noexcept {
    return max(min(reach - abs(distance), most), I::constant(0));
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
