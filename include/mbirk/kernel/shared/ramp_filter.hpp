// Tuned direct ramp filter. Rows are the SIMD axis, so filtering along the channels is a Toeplitz matrix times packs of
// rows. Taps at even distances are 0, so a channel depends on itself and the channels of the other parity. A block of
// outputs is accumulated in registers over all inputs; taps are broadcast.
#pragma once

#include <cmath>
#include <cstdlib>
#include <vector>

#include "mbirk/definition/ramp.hpp"
#include "mbirk/kernel/shared/ramp_rows.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Taps times the scale, in kernel order: odd distances 2 x + 1 at [x + half], even distances 2 x at
/// [2 half + x + half], except distance 0, which is at the end. half = ceil(C / 2), -half <= x < half.
struct ramp_table {
  index_t half = 0;
  bool even = false;  ///< true if a tap at an even distance is not 0
  std::vector<float> taps;
};
/// tap(d) for whole d >= 0, in double.
template <class Tap> ramp_table make_ramp_table(index_t channels, bool even, Tap const& tap) {
  index_t const half = ceil_div(channels, 2);
  ramp_table t{half, even, {}};
  for (index_t x = -half; x < half; ++x) t.taps.push_back(static_cast<float>(tap(std::abs(2 * x + 1))));
  for (index_t x = -half; x < half; ++x)
    t.taps.push_back(even && x != 0 ? static_cast<float>(tap(std::abs(2 * x))) : 0.0f);
  t.taps.push_back(static_cast<float>(tap(index_t{0})));
  return t;
}

/// Cosine weights in the layout of the filter: channel-major chunks without guards, [chunk][channel][width]. A task is
/// a channel.
template <class B> struct ramp_weights {
  using I = typename B::index_backend;
  typename B::template cursor<float> out;
  cone_geometry g;
  chunked_shape shape;

  MBIRK_HD void operator()(index_t channel) const noexcept {
    auto const n = I::broadcast(static_cast<float>(channel));
    for (index_t c = 0; c < shape.chunks; ++c)
      for (index_t k = 0; k < shape.width; k += B::lanes) {
        auto const m = I::to_pack(I::to_wide(I::iota() + I::broadcast(static_cast<std::int32_t>(c * shape.width + k))));
        B::store(out + ((c * shape.channels + channel) * shape.width + k), B::lift(definition::ramp_weight(g, m, n)));
      }
  }
};

/// Direct summation. A task is a block of packs of a view, in all channels.
template <class B, class In, class Out> struct ramp_filter {
  static constexpr int outputs = 4;
  // The number of accumulators is outputs x packs; 4 x 2 leave room in 16 registers.
  static constexpr int most_packs = B::lanes == 16 ? 4 : 2;
  // Inputs per partial sum: the far taps of a wide detector would be lost in one long sum.
  static constexpr index_t inputs_at_once = 128;

  ramp_sides<B, In, Out> sides;
  typename B::template cursor<float const> taps;
  index_t half;
  bool even;
  scratch_layout layout{};
  scratch_part input{}, output{};

  /// Packs per task; a chunk of a view is divided into nearly equal tasks.
  MBIRK_HD static index_t packs_at_once(int packs) noexcept { return ceil_div(packs, ceil_div(packs, most_packs)); }
  MBIRK_HD index_t tasks() const noexcept {
    auto const& shape = sides.shape;
    return shape.views * shape.chunks * ceil_div(shape.packs, packs_at_once(shape.packs));
  }

  /// Reserves the scratch parts; called once before the launch.
  void plan_scratch() {
    index_t const each = packs_at_once(sides.shape.packs) * B::lanes;
    input = layout.add<float>("filter input", 2 * half * each);
    if constexpr (!Out::channel_major) output = layout.add<float>("filter output", sides.shape.channels * each);
  }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& shape = sides.shape;
    index_t const each = packs_at_once(shape.packs), blocks = ceil_div(shape.packs, each);
    index_t const view = task / (blocks * shape.chunks), chunk = task / blocks % shape.chunks,
        first = task % blocks * each;
    int const packs = static_cast<int>(min<index_t>(each, shape.packs - first));
    with_packs<B, most_packs>(packs, [&](auto n) MBIRK_FLAT { filter(n, view, chunk, first * B::lanes, s); });
    index_t const rows = clamp<index_t>(shape.used(chunk) - first * B::lanes, 0, packs * B::lanes);
    B::note_lanes(shape.channels * rows, shape.channels * packs * B::lanes);
  }

 private:
  using cursor = typename B::template cursor<float>;
  using pack = typename B::pack;

  template <class Packs, class Scratch>
  MBIRK_HD void filter(Packs packs, index_t view, index_t chunk, index_t row, Scratch const& s) const noexcept {
    auto const x = s.template at<float>(input);  // even channels first, then the odd ones: [parity][half][packs]
    sides.read(packs, view, chunk, row, [&](index_t n, index_t i, pack value) MBIRK_FLAT {
      B::store(x + (((n & 1) * half + (n >> 1)) * packs + i) * B::lanes, value);
    });
    order_lanes<B>();  // the output may be the input
    if constexpr (Out::channel_major) {
      convolve(packs, x, sides.channels_at(view, chunk, row), sides.shape.width);
      sides.clear_guards(packs, view, chunk, row);
    } else {
      auto const q = s.template at<float>(output);
      convolve(packs, x, q, packs * B::lanes);
      sides.write_rows(packs, view, chunk, row, q, packs * B::lanes);
    }
  }

  /// Computes the channels of one parity, then those of the other; output channel n is stored at q + n stride.
  template <class Packs> MBIRK_HD void convolve(Packs packs, cursor x, cursor q, index_t stride) const noexcept {
    for (index_t parity = 0; parity < 2; ++parity) {
      index_t const count = (sides.shape.channels + 1 - parity) / 2, others = sides.shape.channels - count;
      auto const same = x + parity * half * packs * B::lanes, other = x + (1 - parity) * half * packs * B::lanes;
      for (index_t i = 0; i < count;) {
        // Output i + r is channel 2 (i + r) + parity; input j of the other parity is at the distance
        // 2 (i + r - j + parity - 1) + 1.
        auto const odd = taps + (half + i + parity - 1), evens = taps + (3 * half + i);
        auto const to = q + (2 * i + parity) * stride;
        if (count - i >= outputs) {
          sum_block<outputs>(packs, same, i, other, others, count, odd, evens, to, 2 * stride);
          i += outputs;
        } else {
          sum_block<1>(packs, same, i, other, others, count, odd, evens, to, 2 * stride);
          i += 1;
        }
      }
    }
  }

  template <int Outputs, class Packs>
  MBIRK_NOINLINE void sum_block(Packs packs, cursor same, index_t i, cursor other, index_t others, index_t count,
                                typename B::template cursor<float const> odd,
                            typename B::template cursor<float const> evens, cursor q, index_t step) const noexcept {
    pack const centre = B::load_broadcast(taps + 4 * half);
    auto const add = [&](cursor from, index_t inputs, typename B::template cursor<float const> tap,
                         bool first) MBIRK_FLAT {
      for (index_t begin = 0; begin == 0 || begin < inputs; begin += inputs_at_once) {
        pack sum[Outputs][Packs::max_value];
        simd::unrolled<Outputs>([&](auto r) MBIRK_FLAT {
          packs.each([&](auto p) MBIRK_FLAT { sum[r][p] = B::constant(0); });
        });
        for (index_t j = begin; j < min(inputs, begin + inputs_at_once); ++j) {
          pack y[Packs::max_value];
          packs.each([&](auto p) MBIRK_FLAT { y[p] = B::load_once(from + (j * packs + p) * B::lanes); });
          simd::static_for<Outputs>([&](auto r) MBIRK_FLAT {  // not unrolled<>, with which g++ keeps taps by moves
            pack const h = B::load_broadcast(tap + (r - j));
            packs.each([&](auto p) MBIRK_FLAT { sum[r][p] = fma(h, y[p], sum[r][p]); });
          });
        }
        simd::unrolled<Outputs>([&](auto r) MBIRK_FLAT {
          packs.each([&](auto p) MBIRK_FLAT {
            auto const at = q + (r * step + p * B::lanes);
            if (first && begin == 0)
              B::store(at, fma(centre, B::load(same + ((i + r) * packs + p) * B::lanes), sum[r][p]));
            else B::store(at, B::load(at) + sum[r][p]);
          });
        });
      }
    };
    add(other, others, odd, true);
    if (even) add(same, count, evens, false);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
