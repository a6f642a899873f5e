// Parallel beam, per view: position of a pixel's footprint (affine in the pixel) and its number of taps. A footprint
// wider than two channels takes several passes of three taps, so the inner loops only handle two and three taps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "mbirk/definition/footprint.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/simd/pack.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Zero channels on either side of the detector: taps that miss it land there, so the inner loops need no bounds check.
inline constexpr int guard_channels = 3;
/// Pixels that a task processes at a time: an 8 x 8 tile of the grid, or as many listed pixels.
inline constexpr int group_pixels = 64, tile_side = 8;

/// One pass over the pixels for one view: left edge = edge + row_step i + col_step j, in channels.
struct view_taps {
  double edge, row_step, col_step, width;
  std::int32_t row_fixed, col_fixed;  ///< the steps in fixed point (fixed_point_edges), if there is no window
  float chord;
  std::int32_t view, first_tap;
  std::int32_t taps;     ///< 2 or 3
  bool window;           ///< taps first_tap .. first_tap + 2 of a footprint wider than two channels
};

/// Left edges of the pixels of a tile in fixed point: cell + (base + row_fixed i + col_fixed j) 2^-26, words modulo
/// 2^32. Footprints of up to two channels have steps of at most two, so every edge is within 16 channels of that of the
/// tile's centre, whose integer part is 16: six bits hold it. Steps are rounded to 2^-27 and taken at most four times
/// each, which gives an error of 6e-8 channels, that of a fraction in float.
struct fixed_point_edges {
  static constexpr int integer_bits = 6;
  static constexpr double one = 1 << (32 - integer_bits);
  std::int32_t base = 0;
  index_t cell = 0;
  bool fits = false;  ///< every footprint begins on the detector or in one of its guards

  /// i, j: any pixel of the tile.
  MBIRK_INLINE fixed_point_edges(view_taps const& p, index_t channels, std::int32_t i, std::int32_t j) noexcept {
    std::int32_t const row = i / tile_side * tile_side + tile_side / 2, col = j / tile_side * tile_side + tile_side / 2;
    double const middle = p.edge + p.row_step * row + p.col_step * col;
    double const reach = tile_side / 2 *
        ((p.row_step < 0 ? -p.row_step : p.row_step) + (p.col_step < 0 ? -p.col_step : p.col_step));
    fits = !p.window && middle - reach >= -guard_channels && middle + reach <= static_cast<double>(channels);
    if (!fits) return;
    // The operand of the cast is not negative, so truncation is the floor.
    cell = static_cast<index_t>(middle + guard_channels) - guard_channels - 16;
    auto const word = [](std::int32_t x) { return static_cast<std::uint32_t>(x); };
    base = static_cast<std::int32_t>(static_cast<std::uint32_t>((middle - static_cast<double>(cell)) * one + 0.5) -
                                     word(row) * word(p.row_fixed) - word(col) * word(p.col_fixed));
  }
  static std::int32_t fixed(double step) { return static_cast<std::int32_t>(std::lrint(step * one)); }
};

/// Number of channels that a tile's footprints cover if a pixel is about as wide as a channel, and the first of them,
/// guards included (approximate, close to the detector only): the range to prefetch.
inline constexpr int tile_channels = 12;
MBIRK_INLINE index_t tile_begin(view_taps const& p, index_t channels, std::int32_t i, std::int32_t j) noexcept {
  std::int32_t const row = i / tile_side * tile_side, col = j / tile_side * tile_side;
  double const e = p.edge + p.row_step * (p.row_step < 0 ? row + tile_side - 1 : row) +
      p.col_step * (p.col_step < 0 ? col + tile_side - 1 : col);
  return clamp<index_t>(static_cast<index_t>(clamp(e, -1e9, 1e9)) + guard_channels, 0, channels);
}

/// Appends the passes of a view, given as its first one without fixed-point steps.
inline void append_passes(std::vector<view_taps>& passes, view_taps p, index_t channels) {
  if (!p.window) {
    p.row_fixed = fixed_point_edges::fixed(p.row_step);
    p.col_fixed = fixed_point_edges::fixed(p.col_step);
  }
  // Windows are cut off one channel beyond the detector.
  double const widest = std::min(p.width, static_cast<double>(channels + 2));
  for (auto const taps = static_cast<std::int32_t>(std::ceil(widest)) + 1; p.first_tap < taps; p.first_tap += 3) {
    passes.push_back(p);
    if (!p.window) break;
  }
}

/// The passes of all views, in view order.
template <class Geometry> std::vector<view_taps> make_view_taps(scan<Geometry> const& s) {
  std::vector<view_taps> passes;
  for (index_t v = 0; v < s.geometry().views; ++v) {
    auto const& at = s.positions()[static_cast<std::size_t>(v)];
    parallel_geometry const& g = geometry_of_view(s.geometry(), at);
    auto const f = definition::parallel_footprint(g, at.cosine, at.sine, definition::column_x(g, 0.0),
                                                  definition::row_y(g, 0.0));
    append_passes(passes,
                  {.edge = definition::left_edge(f.centre, f.width),
                   .row_step = -at.sine * g.delta_y / g.delta_det_channel,
                   .col_step = at.cosine * g.delta_x / g.delta_det_channel,
                   .width = f.width, .row_fixed = 0, .col_fixed = 0, .chord = static_cast<float>(f.chord),
                   .view = static_cast<std::int32_t>(v), .first_tap = 0, .taps = f.width <= 1 ? 2 : 3,
                   .window = f.width > 2},
                  g.channels);
  }
  return passes;
}

/// Order of a tile's 64 pixels by ascending channel. It is the same for every tile, because the left edge is affine in
/// the pixel.
inline void sort_tile(view_taps const& p, std::int32_t* order) {
  std::pair<double, std::int32_t> pixels[group_pixels];
  for (std::int32_t k = 0; k < group_pixels; ++k)
    pixels[k] = {p.row_step * (k / tile_side) + p.col_step * (k % tile_side), k};
  std::sort(pixels, pixels + group_pixels);
  for (int k = 0; k < group_pixels; ++k) order[k] = pixels[k].second;
}

/// First channel (plus guard) and weights for a pack of pixels; the third weight is 0 in a two-tap pass.
template <class I> struct pixel_taps {
  typename I::ints first;
  typename I::pack weight[3];
};

/// Taps of one pass over footprints: their two or three taps, or, for those of any width, tap0, tap0 + 1 and tap0 + 2.
struct tap_window { int taps, tap0; bool any_width; };

/// Calls put(tap, overlap) for the taps of a window; footprints begin at fraction f of a cell.
template <class T, class Put> MBIRK_INLINE void each_overlap(tap_window const& win, T f, T width, Put const& put) {
  if (win.any_width) {
    for (int t = 0; t < 3; ++t) put(t, definition::overlap_tap(f, width, T(static_cast<double>(win.tap0 + t))));
  } else if (win.taps == 2) {
    auto const w = definition::overlap_two(f, width);
    put(0, w.first);
    put(1, w.second);
  } else {
    auto const w = definition::overlap_three(f, width);
    put(0, w.first);
    put(1, w.second);
    put(2, w.third);
  }
}

/// Weights, to the power 1 or 2, of footprints that begin at fraction f of a cell.
template <class I>
MBIRK_INLINE void weigh_taps(view_taps const& pass, bool squared, typename I::pack f, typename I::pack width,
                             pixel_taps<I>& taps) {
  using pack = typename I::pack;
  pack const chord = I::broadcast(pass.chord);
  each_overlap({pass.taps, pass.first_tap, pass.window}, f, width, [&](int tap, pack overlap) MBIRK_FLAT {
    pack const w = overlap * chord;
    taps.weight[tap] = squared ? w * w : w;
  });
  if (!pass.window && pass.taps == 2) taps.weight[2] = I::constant(0);
}

/// Taps of pixels (i, j), with weights to the power 1 or 2.
template <class I>
MBIRK_INLINE pixel_taps<I> find_taps(view_taps const& pass, bool squared, index_t channels, typename I::ints i,
                                     typename I::ints j) {
  using pack = typename I::pack;
  using wide = typename I::wide;
  wide const lowest = I::broadcast(-static_cast<double>(guard_channels)),
      highest = I::broadcast(static_cast<double>(channels));
  wide const tap0 = I::broadcast(static_cast<double>(pass.first_tap)),
      guard = I::broadcast(static_cast<double>(guard_channels));
  pack width = I::broadcast(static_cast<float>(pass.width));
  wide e = fma(I::to_wide(i), I::broadcast(pass.row_step),
               fma(I::to_wide(j), I::broadcast(pass.col_step), I::broadcast(pass.edge)));
  if (pass.window) {
    wide const left = max(e, I::broadcast(-1.0));
    width = I::to_pack(max(min(e + I::broadcast(pass.width), highest + I::broadcast(1.0)) - left, I::broadcast(0.0)));
    e = left;
  }
  wide const cell = floor(e);
  pixel_taps<I> taps;
  taps.first = I::to_ints(max(min(cell + tap0, highest), lowest) + guard);
  weigh_taps<I>(pass, squared, I::to_pack(e - cell), width, taps);
  return taps;
}

/// Taps of pixels of a tile, with a third of the operations of find_taps.
template <class I>
MBIRK_INLINE pixel_taps<I> find_tile_taps(view_taps const& pass, fixed_point_edges const& edges, bool squared,
                                          typename I::ints i, typename I::ints j) {
  auto const word = i * I::broadcast(pass.row_fixed) + (j * I::broadcast(pass.col_fixed) + I::broadcast(edges.base));
  constexpr std::int32_t integer = (1 << fixed_point_edges::integer_bits) - 1;
  auto const turned = rotate_left(word, fixed_point_edges::integer_bits);  // moves the integer part to the low bits
  pixel_taps<I> taps;
  taps.first = (turned & I::broadcast(integer)) + I::broadcast(static_cast<std::int32_t>(edges.cell + guard_channels));
  weigh_taps<I>(pass, squared, I::to_pack_unsigned(turned & I::broadcast(~integer)) * I::constant(0x1p-32),
                I::broadcast(static_cast<float>(pass.width)), taps);
  return taps;
}

/// Stores the taps of `count` pixels of a group: the first channels to `first`, the weights by store(tap, k, weights).
/// Writes whole packs.
template <class I, class Ints, class Store>
MBIRK_INLINE void footprint_weights(view_taps const& pass, bool squared, index_t channels, bool is_tile, Ints rows,
                                    Ints cols, int count, typename I::template cursor<std::int32_t> first,
                                    Store const& store) {
  auto const each = [&](auto const& find) MBIRK_FLAT {
    for (int k = 0; k < count; k += I::lanes) {
      auto const taps = find(I::load_ints(rows + k), I::load_ints(cols + k));
      I::store(first + k, taps.first);
      store(0, k, taps.weight[0]);
      store(1, k, taps.weight[1]);
      if (pass.taps == 3) store(2, k, taps.weight[2]);
    }
  };
  if (is_tile) {
    fixed_point_edges const edges(pass, channels, I::load_value(rows), I::load_value(cols));
    if (edges.fits)
      return each([&](auto i, auto j) MBIRK_FLAT { return find_tile_taps<I>(pass, edges, squared, i, j); });
  }
  each([&](auto i, auto j) MBIRK_FLAT { return find_taps<I>(pass, squared, channels, i, j); });
}

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
