// Parallel back projection of a grid on a device, where a pixel is about as wide as a channel. A block owns an 8 x 8
// tile of pixels over a chunk of slices, a warp 2 x 4 of them, with accumulators in registers over all views. Along the
// axis of the grid that is closer to the detector's, pixel q of four begins q - 1 or q channels after the first one. So
// the channels of 2 x 4 pixels are loaded once, five or six of them, and every pixel uses three of them whose places in
// registers are known at compile time; the weight of one of the three is 0. Which axis that is and its direction differ
// by the octant of the view's angle: views are sorted by octants, and the warps own other pixels in each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "mbirk/core/bits.hpp"
#include "mbirk/exec/block.hpp"
#include "mbirk/exec/tuning.hpp"
#include "mbirk/kernel/device/parallel_back_arrays.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Axes and directions of the grid as a view sees them. The "along" axis is the one whose pixels are further apart on
/// the detector. Its positions, and those across, are counted such that channels increase with both.
struct view_octant {
  bool rows_along, back_along, back_across;

  MBIRK_HD explicit view_octant(view_taps const& p) noexcept
      : rows_along(wide(p.row_step) > wide(p.col_step)),
        back_along((rows_along ? p.row_step : p.col_step) < 0),
        back_across((rows_along ? p.col_step : p.row_step) < 0) {}
  MBIRK_HD explicit view_octant(int number) noexcept
      : rows_along((number & 4) != 0), back_along((number & 2) != 0), back_across((number & 1) != 0) {}
  MBIRK_HD int number() const noexcept { return 4 * rows_along + 2 * back_along + back_across; }

  /// A warp of eight owns so many lines of so many pixels of a tile, which use at most so many channels.
  static constexpr int lines = 2, in_line = 4, most_channels = in_line + 2;
  struct place { int row, col; };
  /// Position in the tile of pixel q in a line of a warp.
  MBIRK_HD place at(int warp, int line, int q) const noexcept {
    int const across = lines * (warp / 2) + (back_across ? lines - 1 - line : line),
              along = in_line * (warp % 2) + (back_along ? in_line - 1 - q : q);
    return rows_along ? place{along, across} : place{across, along};
  }

  static MBIRK_HD double wide(double step) noexcept { return step < 0 ? -step : step; }
};
inline constexpr int octants = 8;

inline std::vector<view_taps> sorted_by_octant(std::vector<view_taps> passes) {
  std::ranges::sort(passes, {}, [](auto const& p) {
    return std::tuple(view_octant(p).number(), p.view, p.first_tap);
  });
  return passes;
}

/// Where the passes of each octant end, in passes that are sorted by octant.
struct octant_ends {
  std::int32_t end[octants] = {};

  explicit octant_ends(std::vector<view_taps> const& sorted) {
    for (auto const& p : sorted)
      for (int o = view_octant(p).number(); o < octants; ++o) ++end[o];
  }
};

/// Whether parallel_tile_back can project these passes: in all of them four pixels in line begin as described above,
/// and none is wider than a channel. The channels of all views are counted in 32 bits.
inline bool fit_in_tiles(std::vector<view_taps> const& passes, index_t channels) {
  constexpr index_t most = std::numeric_limits<std::int32_t>::max();
  if (std::ssize(passes) > most / (channels + 2 * guard_channels)) return false;
  return std::ranges::all_of(passes, [](view_taps const& p) {
    double const along = std::max(view_octant::wide(p.row_step), view_octant::wide(p.col_step));
    // The steps in fixed point are rounded.
    return p.taps == 2 && !p.window && 3 * fixed_point_edges::fixed(along) >= 2 * fixed_point_edges::fixed(1) &&
           along <= 1;
  });
}

/// Weights of two pixels in line, for three channels each. The third weight of the first pixel is 0.
struct alignas(16) pixel_pair_taps {
  float weight[2][3];
  std::int32_t first_channel;  ///< in which the first of the four pixels begins (plus guard)
  std::int32_t view_begin;     ///< channels (and guards) of the views before this one
};

template <class B> struct parallel_tile_back : parallel_back_arrays<B> {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  static constexpr int warps = 8, lines = view_octant::lines, in_line = view_octant::in_line, most_packs = 4;
  static constexpr launch_bounds bounds{warps * warp_lanes, 2};
  static constexpr int min_blocks(int capability) { return exec::tuning_for(capability).parallel_back_blocks; }
  template <class Block> struct shared {
    // Two lines of two pairs per warp.
    typename Block::template tile<pixel_pair_taps, 2, warps, warps * lines * 2> taps;
  };

  octant_ends ends;                 ///< of the passes, which are sorted by octant; all fit in tiles
  device_span<pixel_group> groups;  ///< tiles

  index3 grid() const noexcept { return {static_cast<int>(groups.size()), static_cast<int>(this->shape.chunks), 1}; }

  /// Blocks are (tile, chunk).
  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    with_packs<B, most_packs>(this->shape.packs, [&](auto packs) MBIRK_FLAT { project(packs, block, sh); });
  }

 private:
  template <class Packs> using sums = pack[lines][in_line][Packs::max_value];

  template <class Packs, class Block>
  MBIRK_HD void project(Packs packs, Block const& block, shared<Block>& sh) const noexcept {
    pixel_group const tile = groups[block.index().x];
    index_t const chunk = block.index().y;
    auto const y = this->sinogram + this->shape.offset(chunk, 0);

    std::int32_t from = 0;
    int stage = 0;
    for (int number = 0; number < octants; ++number) {
      std::int32_t const to = ends.end[number];
      if (from == to && (from > 0 || number + 1 < octants)) continue;  // without any view, the last one stores zeros
      view_octant const octant(number);
      sums<Packs> sum;
      load_sums(packs, tile, chunk, octant, block.warp_rank(), from == 0, sum);
      auto const prepare = [&](std::int32_t first, int into) MBIRK_FLAT {
        if (first + block.warp_rank() >= to) return;
        auto const pass = I::load_value(this->passes + (first + block.warp_rank()));
        weigh(tile, octant, pass, sh, into, block);
        fetch(tile, pass, y, block);
      };
      prepare(from, stage);
      for (; from < to; from += warps, stage ^= 1) {
        int const views = to - from < warps ? to - from : warps;
        // The taps are complete after this barrier. The stage that is written next is no longer read, because all
        // warps have finished reading it before this barrier.
        block.sync();
        prepare(from + warps, stage ^ 1);
        for (int v = 0; v < views; ++v) add_view(packs, sh, stage, v, block.warp_rank(), y, sum);
      }
      from = to;
      store_sums(packs, tile, chunk, octant, block.warp_rank(), sum);
      block.sync();  // other warps own these pixels in the next octant
    }
  }

  MBIRK_HD std::int32_t channels_of_view() const noexcept {
    return static_cast<std::int32_t>(this->shape.channels) + 2 * guard_channels;
  }

  /// Whether a lane has four neighbouring slices, so that one access loads all packs of a channel.

  /// Calls f(sums of a pixel, its voxel column) for the pixels of a warp that are planned.
  template <class Packs, class F>
  MBIRK_INLINE void each_pixel(pixel_group const& tile, index_t chunk, view_octant octant, int warp, sums<Packs>& sum,
                               F const& f) const noexcept {
    simd::static_for<lines>([&](auto l) MBIRK_FLAT {
      simd::static_for<in_line>([&](auto q) MBIRK_FLAT {
        auto const at = octant.at(warp, l, q);
        auto const bit = std::uint64_t{1} << (tile_side * at.row + at.col);
        if ((tile.tile_mask & bit) == 0) return;
        index_t const pixel = tile.first + mbirk::detail::bit_count(tile.tile_mask & (bit - 1));
        f(sum[l][q], this->voxel_columns + (I::load_value(this->offsets + pixel) + chunk * this->shape.width));
      });
    });
  }
  template <class Packs>
  MBIRK_INLINE void load_sums(Packs packs, pixel_group const& tile, index_t chunk, view_octant octant, int warp,
                              bool zero, sums<Packs>& sum) const noexcept {
    simd::static_for<lines * in_line>([&](auto k) MBIRK_FLAT {
      packs.each([&](auto i) MBIRK_FLAT { sum[k / in_line][k % in_line][i] = B::constant(0); });
    });
    if (zero) return;
    index_t const used = this->shape.used(chunk);
    each_pixel<Packs>(tile, chunk, octant, warp, sum, [&](auto& of_pixel, auto column) MBIRK_FLAT {
      if constexpr (four_slices<B, Packs>) {
        B::load_four(column, of_pixel, used);
      } else {
        packs.each([&](auto i) MBIRK_FLAT {
          index_t const left = used - i * B::lanes;
          if (left > 0) of_pixel[i] = load_lanes<B>(column + i * B::lanes, min<index_t>(left, B::lanes));
        });
      }
    });
  }
  template <class Packs>
  MBIRK_INLINE void store_sums(Packs packs, pixel_group const& tile, index_t chunk, view_octant octant, int warp,
                               sums<Packs>& sum) const noexcept {
    index_t const used = this->shape.used(chunk);
    each_pixel<Packs>(tile, chunk, octant, warp, sum, [&](auto& of_pixel, auto column) MBIRK_FLAT {
      if constexpr (four_slices<B, Packs>) {
        B::store_four(column, of_pixel, used);
      } else {
        packs.each([&](auto i) MBIRK_FLAT {
          index_t const left = used - i * B::lanes;
          if (left > 0) store_lanes<B>(column + i * B::lanes, of_pixel[i], min<index_t>(left, B::lanes));
        });
      }
    });
  }
  template <class Packs>
  static MBIRK_INLINE void load_channel(Packs packs, typename B::template cursor<float const> from,
                                        pack (&channel)[Packs::max_value]) noexcept {
    if constexpr (four_slices<B, Packs>) B::load_four(from, channel);
    else packs.each([&](auto i) MBIRK_FLAT { channel[i] = B::load(from + i * B::lanes); });
  }

  /// Weights of a tile in a view, a pair of pixels per lane. Positions on the detector are in fixed point, as in
  /// fixed_point_edges, so that they are exactly affine in the pixel.
  template <class Block>
  MBIRK_INLINE void weigh(pixel_group const& tile, view_octant octant, view_taps const& pass, shared<Block>& sh,
                          int stage, Block const& block) const noexcept {
    constexpr int fraction_bits = 32 - fixed_point_edges::integer_bits;
    int const lane = block.warp().lane(), owner = lane / 4, line = lane / 2 % 2, half = lane % 2;
    double const middle = middle_of(tile, pass);
    // The integer part of the middle is 16, and no pixel of the tile is 16 channels away from it.
    auto const cell = static_cast<std::int32_t>(middle + 64) - 64 - 16;
    auto const centre = static_cast<std::uint32_t>((middle - cell) * fixed_point_edges::one + 0.5);
    auto const at = octant.at(owner, line, 0);
    auto const word = [](std::int32_t x) MBIRK_FLAT { return static_cast<std::uint32_t>(x); };
    std::uint32_t const edge = centre + word(at.row - middle_pixel) * word(pass.row_fixed) +
                               word(at.col - middle_pixel) * word(pass.col_fixed);
    std::int32_t const step = octant.rows_along ? pass.row_fixed : pass.col_fixed;
    std::uint32_t const along = word(octant.back_along ? -step : step);

    auto const first = static_cast<std::int32_t>(edge >> fraction_bits);
    pixel_pair_taps taps{};
    taps.first_channel = cell + first + guard_channels;
    taps.view_begin = pass.view * channels_of_view();
    simd::static_for<2>([&](auto k) MBIRK_FLAT {
      int const q = 2 * half + k;
      std::uint32_t const left = edge + static_cast<std::uint32_t>(q) * along;
      auto const fraction = static_cast<std::int32_t>(left << fixed_point_edges::integer_bits);
      float weight[2];
      each_overlap({2, 0, false}, I::to_pack_unsigned(I::broadcast(fraction)) * I::constant(0x1p-32),
                   I::broadcast(static_cast<float>(pass.width)), [&](int tap, auto overlap) MBIRK_FLAT {
                     auto const a = overlap * I::broadcast(pass.chord);
                     weight[tap] = I::element(this->squared ? a * a : a);
                   });
      bool const later = q > 0 && static_cast<std::int32_t>(left >> fraction_bits) - first == q;
      taps.weight[k][0] = later ? 0 : weight[0];
      taps.weight[k][1] = later ? weight[0] : weight[1];
      taps.weight[k][2] = later ? weight[1] : 0;
    });
    sh.taps(stage, block.warp_rank(), lane) = taps;
  }

  /// Where the footprint of pixel (4, 4) of a tile begins. Far from the detector the distance does not matter.
  MBIRK_INLINE double middle_of(pixel_group const& tile, view_taps const& pass) const noexcept {
    std::int32_t const row = I::load_value(this->rows + tile.first) / tile_side * tile_side + middle_pixel,
                       col = I::load_value(this->cols + tile.first) / tile_side * tile_side + middle_pixel;
    return clamp(pass.edge + pass.row_step * row + pass.col_step * col, -64.0,
                 static_cast<double>(this->shape.channels) + 64);
  }
  static constexpr int middle_pixel = tile_side / 2;

  /// Asks for the channels that a tile needs of a view, 32 bytes per request, so that they are in L1 when the warps add
  /// them.
  template <class Block>
  MBIRK_INLINE void fetch(pixel_group const& tile, view_taps const& pass,
                          typename B::template cursor<float const> y, Block const& block) const noexcept {
    if constexpr (requires { B::prefetch(y); }) {
      // No step is longer than a channel, so the pixels of a tile begin in 10 channels and reach 3 beyond them.
      constexpr int floats = 8, most_channels = 13, most = most_channels * most_packs * warp_lanes / floats;
      double const spread = view_octant::wide(pass.row_step) + view_octant::wide(pass.col_step);
      auto const begin = static_cast<std::int32_t>(middle_of(tile, pass) - middle_pixel * spread) + guard_channels;
      std::int32_t const first = clamp(begin, 0, channels_of_view());
      std::int32_t const channels = min(static_cast<std::int32_t>((tile_side - 1) * spread) + 4,
                                        channels_of_view() - first);
      auto const from = y + (index_t{pass.view} * channels_of_view() + first) * this->shape.width;
      int const requests = channels * static_cast<int>(this->shape.width) / floats;
      simd::static_for<(most + warp_lanes - 1) / warp_lanes>([&](auto n) MBIRK_FLAT {
        int const k = n * warp_lanes + block.warp().lane();
        if (k < requests) B::prefetch(from + floats * k);
      });
    }
  }

  template <class Packs, class Shared>
  MBIRK_INLINE void add_view(Packs packs, Shared& sh, int stage, int v, int warp,
                             typename B::template cursor<float const> y, sums<Packs>& sum) const noexcept {
    pixel_pair_taps const taps[lines][2] = {{sh.taps(stage, v, 4 * warp), sh.taps(stage, v, 4 * warp + 1)},
                                            {sh.taps(stage, v, 4 * warp + 2), sh.taps(stage, v, 4 * warp + 3)}};
    std::int32_t const first = taps[0][0].first_channel;
    if (first < 0 || first + most_loaded > channels_of_view()) {
      add_at_edge(packs, taps, y, sum);
      return;
    }
    bool const later = taps[1][0].first_channel != first;
    int const width = packs * B::lanes;
    auto const at = y + index_t{taps[0][0].view_begin + first} * width;
    pack channel[most_loaded][Packs::max_value];
    simd::static_for<most_loaded>([&](auto c) MBIRK_FLAT {
      if (c < channels_of_line || later) load_channel(packs, at + c * width, channel[c]);
    });
    add_line<0>(packs, taps[0], channel, sum[0]);
    if (later) add_line<1>(packs, taps[1], channel, sum[1]);
    else add_line<0>(packs, taps[1], channel, sum[1]);
  }
  static constexpr int channels_of_line = in_line + 1, most_loaded = view_octant::most_channels;

  /// Adds channels, of which a line uses those from `First` on, to the pixels of the line.
  template <int First, class Packs, int Channels>
  static MBIRK_INLINE void add_line(Packs packs, pixel_pair_taps const (&taps)[2],
                                    pack const (&channel)[Channels][Packs::max_value],
                                    pack (&sum)[in_line][Packs::max_value]) noexcept {
    simd::static_for<in_line>([&](auto q) MBIRK_FLAT {
      constexpr int begin = First + (q > 0 ? q - 1 : 0);
      simd::static_for<(q > 0 ? 3 : 2)>([&](auto t) MBIRK_FLAT {
        pack const weight = B::broadcast(taps[q / 2].weight[q % 2][t]);
        packs.each([&](auto i) MBIRK_FLAT { sum[q][i] = fma(weight, channel[begin + t][i], sum[q][i]); });
      });
    });
  }
  /// Pixels some of whose channels are beyond the guards: they read a guard instead, which is 0.
  template <class Packs>
  MBIRK_INLINE void add_at_edge(Packs packs, pixel_pair_taps const (&taps)[lines][2],
                                typename B::template cursor<float const> y, sums<Packs>& sum) const noexcept {
    simd::static_for<lines>([&](auto l) MBIRK_FLAT {
      pack channel[channels_of_line][Packs::max_value];
      simd::static_for<channels_of_line>([&](auto c) MBIRK_FLAT {
        std::int32_t const from = clamp(taps[l][0].first_channel + c, 0, channels_of_view() - 1);
        load_channel(packs, y + index_t{taps[l][0].view_begin + from} * (packs * B::lanes), channel[c]);
      });
      add_line<0>(packs, taps[l], channel, sum[l]);
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
