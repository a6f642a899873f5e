// Ramp filter by FFT on a device, for detectors whose transforms fit into shared memory. A block transforms pairs of
// neighbouring rows, one as the real and one as the imaginary part. Its threads share the butterflies of a stage: each
// replaces the numbers that it has read, so there is one barrier between two stages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mbirk/exec/block.hpp"
#include "mbirk/kernel/shared/fourier.hpp"
#include "mbirk/kernel/shared/ramp_rows.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Division of numbers below 1024 by a number of at most 512, without the instructions of a division.
struct small_divisor {
  std::int32_t value = 1;
  std::uint32_t reciprocal = 1 << 20;  ///< 2^20 / value, rounded up by less than 1, and 1024 x 512 < 2^20

  small_divisor() = default;
  explicit small_divisor(std::int32_t v) : value(v), reciprocal(static_cast<std::uint32_t>(((1 << 20) + v - 1) / v)) {}
  MBIRK_HD std::int32_t quotient(std::int32_t n) const noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(n) * reciprocal >> 20);
  }
};

/// A stage divides blocks of radix * step numbers.
struct block_stage {
  std::int32_t radix = 0;
  small_divisor step;
  std::int32_t twiddles = 0;  ///< offset of its twiddles, [radix - 1][step]
};

/// What a block computes: so many transforms of one length, which lie one after the other. The last stage divides
/// leaves. All butterflies of a stage are shared by whole warps.
struct block_plan {
  static constexpr std::int32_t most_numbers = 4096;
  static constexpr int most_stages = 4;
  std::int32_t length = 0, transforms = 0;  ///< no transforms: one does not fit
  std::int32_t inner = 0, stages = 0;
  small_divisor innermost;  ///< blocks of `inner` numbers in a transform
  block_stage stage[most_stages] = {};
};

inline block_plan make_block_plan(fourier::plan const& p) {
  block_plan made;
  if (p.length > block_plan::most_numbers) return made;
  made.length = static_cast<std::int32_t>(p.length);
  // Together a multiple of 32 butterflies of radix 8.
  std::int32_t const together = std::max(1, 8 * warp_lanes / (made.length & -made.length));
  made.transforms = block_plan::most_numbers / made.length / together * together;
  made.inner = p.inner;
  made.innermost = small_divisor(made.length / p.inner);
  auto const add = [&](index_t size, int radix, index_t twiddles) {
    made.stage[made.stages++] = {radix, small_divisor(static_cast<std::int32_t>(size / radix)),
                                 static_cast<std::int32_t>(twiddles)};
  };
  for (int s = 0; s < p.stages; ++s) add(p.size[s], p.radix[s], p.twiddles[s]);
  add(p.leaf(), p.leaf_radix, p.leaf_twiddles);
  return made;
}

/// The twiddles of a plan in the order in which threads read them.
inline std::vector<float> block_twiddles(block_plan const& p, std::vector<fourier::wave<double>> const& by_number) {
  std::vector<float> made;
  for (auto const& s : std::vector(p.stage, p.stage + p.stages))
    for (int j = 0; j < s.radix - 1; ++j)
      for (int n = 0; n < s.step.value; ++n) {
        auto const& w = by_number[static_cast<std::size_t>(s.twiddles + n * (s.radix - 1) + j)];
        made.push_back(static_cast<float>(w.re));
        made.push_back(static_cast<float>(w.im));
      }
  return made;
}

/// The spectrum of a plan in the order in which threads read it: [number in its block][block].
inline std::vector<float> block_spectrum(block_plan const& p, std::vector<float> const& by_number) {
  std::vector<float> made;
  for (int k = 0; k < p.inner; ++k)
    for (int n = k; n < p.length; n += p.inner) made.push_back(by_number[static_cast<std::size_t>(n)]);
  return made;
}

/// A complex number, read as one 64-bit word.
struct alignas(8) shared_wave { float re, im; };

template <class B, class In, class Out> struct ramp_block_fourier {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using wave = fourier::wave<pack>;
  static constexpr int warps = 4;
  static constexpr launch_bounds bounds{warps * warp_lanes, 6};
  /// One unused number after every 16, so that threads that read every eighth number use different banks.
  MBIRK_HD static constexpr int place(int n) noexcept { return n + (n >> 4); }
  template <class Block> struct shared {
    typename Block::template tile<shared_wave, place(block_plan::most_numbers)> x;
  };

  ramp_sides<B, In, Out> sides;
  typename B::template cursor<float const> twiddles, spectrum;
  block_plan plan;

  MBIRK_HD index_t rows_of_block() const noexcept { return 2 * index_t{plan.transforms}; }
  MBIRK_HD index_t blocks_of_chunk() const noexcept { return ceil_div(sides.shape.width, rows_of_block()); }
  index3 grid() const noexcept {
    return {static_cast<int>(sides.shape.views * sides.shape.chunks * blocks_of_chunk()), 1, 1};
  }

  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    auto const& shape = sides.shape;
    index_t const task = block.index().x, blocks = blocks_of_chunk(), view = task / (blocks * shape.chunks),
                  chunk = task / blocks % shape.chunks, row = task % blocks * rows_of_block(),
                  rows = clamp<index_t>(shape.used(chunk) - row, 0, rows_of_block());
    if (rows > 0) {
      read(block, sh, view, chunk, row, rows);
      block.sync();
      convolve(block, sh);
    }
    if constexpr (Out::channel_major) write_channels(block, sh, view, chunk, row, rows);
    else if (rows > 0) write_rows(block, sh, view, chunk, row, rows);
    if (block.warp_rank() == 0) B::note_lanes(shape.channels * rows, shape.channels * rows_of_block());
  }

 private:
  template <class Shared> MBIRK_INLINE static wave take(Shared& sh, int n) {
    auto const w = static_cast<shared_wave>(sh.x(place(n)));
    return {B::broadcast(w.re), B::broadcast(w.im)};
  }
  template <class Shared> MBIRK_INLINE static void put(Shared& sh, int n, wave const& z) {
    sh.x(place(n)) = shared_wave{B::element(z.re), B::element(z.im)};
  }
  MBIRK_INLINE static typename I::ints index(index_t n) { return I::broadcast(static_cast<std::int32_t>(n)); }
  /// Offset of channel 0 of a row of an input or output.
  template <class Side>
  MBIRK_INLINE index_t begin_of(Side const& side, index_t view, index_t chunk, index_t row) const noexcept {
    if constexpr (Side::channel_major)
      return sides.shape.offset(chunk, view) + guard_channels * sides.shape.width + row;
    else return view * side.view_stride + (chunk * sides.shape.width + row) * side.row_stride;
  }
  /// Calls f(n) for the numbers 0 .. count - 1, a multiple of 32, each on one thread.
  template <class Block, class F> MBIRK_INLINE static void share(Block const& block, int count, F const& f) {
    MBIRK_KEEP_LOOP for (int n = block.rank(); n < count; n += bounds.threads) f(n);
  }

  /// Reads pairs of rows, weighted, and zeros for rows that do not exist and numbers beyond the detector. The upper
  /// half of the numbers is not set.
  template <class Block>
  MBIRK_INLINE void read(Block const& block, shared<Block>& sh, index_t view, index_t chunk, index_t row,
                         index_t rows) const noexcept {
    for (int pair = 0; pair < plan.transforms; ++pair) {
      auto const from = sides.in.at + begin_of(sides.in, view, chunk, row + 2 * pair);
      if (rows - 2 * pair >= 2) read_pair<2>(block, sh, pair, from);
      else if (rows - 2 * pair == 1) read_pair<1>(block, sh, pair, from);
      else read_pair<0>(block, sh, pair, from);
      if (sides.weighted && 2 * pair < rows) {
        index_t const at = chunk * sides.shape.channels * sides.shape.width + row + 2 * pair;
        weigh_pair(block, sh, pair, sides.weights + at);
      }
    }
  }
  template <int Rows, class Block>
  MBIRK_INLINE void read_pair(Block const& block, shared<Block>& sh, int pair,
                              typename B::template cursor<float const> from) const noexcept {
    int const half = plan.length / 2, channels = static_cast<int>(sides.shape.channels);
    MBIRK_KEEP_LOOP for (int first = block.warp_rank() * warp_lanes; first < half; first += bounds.threads) {
      int const n = first + block.warp().lane();
      auto const value = [&](auto k) MBIRK_FLAT {
        if constexpr (k >= Rows) return B::constant(0);
        else if constexpr (In::channel_major)
          return B::gather_where(from + k, index(n * sides.shape.width), n < channels);
        else return B::gather_where(from + k * sides.in.row_stride, index(n), n < channels);
      };
      wave const z{value(simd::constant<0>{}), value(simd::constant<1>{})};
      if (n < half) put(sh, pair * plan.length + n, z);
    }
  }
  /// Each thread weighs what it has read. Rows beyond the last have weights, too: the table has whole packs.
  template <class Block>
  MBIRK_INLINE void weigh_pair(Block const& block, shared<Block>& sh, int pair,
                               typename B::template cursor<float const> weights) const noexcept {
    int const channels = static_cast<int>(sides.shape.channels);
    MBIRK_KEEP_LOOP for (int first = block.warp_rank() * warp_lanes; first < channels; first += bounds.threads) {
      int const n = first + block.warp().lane();
      bool const mine = n < channels;
      auto const at = index(n * sides.shape.width);
      pack const re = B::gather_where(weights, at, mine), im = B::gather_where(weights + 1, at, mine);
      if (!mine) continue;
      wave const z = take(sh, pair * plan.length + n);
      put(sh, pair * plan.length + n, {z.re * re, z.im * im});
    }
  }

  template <class Block> MBIRK_INLINE void convolve(Block const& block, shared<Block>& sh) const noexcept {
    auto const& first = plan.stage[0];
    if (first.radix == 8) divide<8, true>(block, sh, first);
    else divide<4, true>(block, sh, first);
    block.sync();
    MBIRK_KEEP_LOOP for (int s = 1; s < plan.stages; ++s) {
      if (plan.stage[s].radix == 8) divide<8, false>(block, sh, plan.stage[s]);
      else divide<4, false>(block, sh, plan.stage[s]);
      block.sync();
    }
    if (plan.inner == 6) multiply<6>(block, sh);
    else multiply<8>(block, sh);
    block.sync();
    MBIRK_KEEP_LOOP for (int s = plan.stages - 1; s > 0; --s) {
      if (plan.stage[s].radix == 8) unite<8, false>(block, sh, plan.stage[s]);
      else unite<4, false>(block, sh, plan.stage[s]);
      block.sync();
    }
    if (first.radix == 8) unite<8, true>(block, sh, first);
    else unite<4, true>(block, sh, first);
    block.sync();
  }

  /// Calls f(place of its first number, place of its first twiddle) for each butterfly.
  template <class Block, class F>
  MBIRK_INLINE void butterflies(Block const& block, block_stage const& stage, F const& f) const noexcept {
    int const step = stage.step.value, radix = stage.radix;
    share(block, plan.transforms * plan.length / radix, [&](int t) MBIRK_FLAT {
      int const of = stage.step.quotient(t), n = t - of * step;
      f(of * (radix * step) + n, stage.twiddles + n);
    });
  }
  MBIRK_INLINE wave twiddle(int n) const noexcept {
    wave w;
    B::gather_two(twiddles, index(2 * n), w.re, w.im);
    return w;
  }

  template <int Radix, bool Half, class Block>
  MBIRK_INLINE void divide(Block const& block, shared<Block>& sh, block_stage const& stage) const noexcept {
    int const step = stage.step.value;
    butterflies(block, stage, [&](int at, int w) MBIRK_FLAT {
      wave z[Radix];
      simd::static_for<Half ? Radix / 2 : Radix>([&](auto j) MBIRK_FLAT { z[j] = take(sh, at + j * step); });
      fourier::split<Radix, Half>(z);
      put(sh, at, z[0]);
      simd::static_for<Radix - 1>([&](auto j) MBIRK_FLAT {
        put(sh, at + (j + 1) * step, fourier::product(z[j + 1], twiddle(w + j * step)));
      });
    });
  }
  template <int Radix, bool Half, class Block>
  MBIRK_INLINE void unite(Block const& block, shared<Block>& sh, block_stage const& stage) const noexcept {
    int const step = stage.step.value;
    butterflies(block, stage, [&](int at, int w) MBIRK_FLAT {
      wave z[Radix];
      z[0] = take(sh, at);
      simd::static_for<Radix - 1>([&](auto j) MBIRK_FLAT {
        z[j + 1] = fourier::conjugate_product(take(sh, at + (j + 1) * step), twiddle(w + j * step));
      });
      fourier::join<Radix, Half>(z);
      simd::static_for<Half ? Radix / 2 : Radix>([&](auto j) MBIRK_FLAT { put(sh, at + j * step, z[j]); });
    });
  }
  /// Transforms the innermost blocks, multiplies them by the spectrum, and transforms them back.
  template <int Inner, class Block>
  MBIRK_INLINE void multiply(Block const& block, shared<Block>& sh) const noexcept {
    int const each = plan.innermost.value;
    share(block, plan.transforms * each, [&](int t) MBIRK_FLAT {
      int const n = t - plan.innermost.quotient(t) * each;
      wave z[Inner];
      simd::static_for<Inner>([&](auto k) MBIRK_FLAT { z[k] = take(sh, t * Inner + k); });
      fourier::split<Inner, false>(z);
      simd::static_for<Inner>([&](auto k) MBIRK_FLAT {
        pack const factor = B::gather(spectrum, index(k * each + n));
        z[k] = {z[k].re * factor, z[k].im * factor};
      });
      fourier::join<Inner, false>(z);
      simd::static_for<Inner>([&](auto k) MBIRK_FLAT { put(sh, t * Inner + k, z[k]); });
    });
  }

  template <class Block>
  MBIRK_INLINE void write_rows(Block const& block, shared<Block>& sh, index_t view, index_t chunk, index_t row,
                               index_t rows) const noexcept {
    for (int pair = 0; 2 * pair < rows; ++pair) {
      auto const to = sides.out.at + begin_of(sides.out, view, chunk, row + 2 * pair);
      if (2 * pair + 1 < rows) write_pair<2>(block, sh, pair, to);
      else write_pair<1>(block, sh, pair, to);
    }
  }
  template <int Rows, class Block>
  MBIRK_INLINE void write_pair(Block const& block, shared<Block>& sh, int pair,
                               typename B::template cursor<float> to) const noexcept {
    int const lane = block.warp().lane(), channels = static_cast<int>(sides.shape.channels);
    MBIRK_KEEP_LOOP for (int first = block.warp_rank() * warp_lanes; first < channels; first += bounds.threads) {
      int const n = first + lane;
      wave z{B::constant(0), B::constant(0)};
      if (n < channels) z = take(sh, pair * plan.length + n);
      B::scatter(to, index(n), z.re, n < channels);
      if constexpr (Rows == 2) B::scatter(to + sides.out.row_stride, index(n), z.im, n < channels);
    }
  }

  /// Writes the rows of a block to a channel-major output, with zeros in the guards and in rows that do not exist.
  template <class Block>
  MBIRK_INLINE void write_channels(Block const& block, shared<Block>& sh, index_t view, index_t chunk, index_t row,
                                   index_t rows) const noexcept {
    auto const& shape = sides.shape;
    auto const to = sides.out.at + (shape.offset(chunk, view) + row);
    auto const guards = static_cast<int>(guard_channels), channels = static_cast<int>(shape.channels),
               here = static_cast<int>(min<index_t>(rows_of_block(), shape.width - row)),
               count = (channels + 2 * guards) * here;
    MBIRK_KEEP_LOOP for (int first = block.warp_rank() * warp_lanes; first < count; first += bounds.threads) {
      int const t = first + block.warp().lane(), n = t / here, k = t - n * here, channel = n - guards;
      wave z{B::constant(0), B::constant(0)};
      if (k < rows && channel >= 0 && channel < channels) z = take(sh, k / 2 * plan.length + channel);
      B::scatter(to, index(n * shape.width + k), k % 2 ? z.im : z.re, t < count);
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
