// Statistics for data-dependent decisions: range, histogram and order statistics of an array. Tasks write partial
// results; the host sums them. Where a value determines an address, each_lane takes packs apart, and the kernel
// declares the scalar work, which is the same for every element.
#pragma once

#include <cstdint>
#include <limits>

#include "mbirk/core/bits.hpp"
#include "mbirk/kernel/shared/elementwise.hpp"
#include "mbirk/simd/pack.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Minimum, maximum and a NaN flag: three packs per task. Minimum and maximum ignore NaNs.
template <class B> struct array_range {
  static constexpr index_t packs = 3;
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  strided_cursor<typename B::template cursor<float const>> in;
  typename B::template cursor<float> partial;
  elementwise_range w;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto minimum = B::constant(infinity), maximum = B::constant(-infinity);
    auto bad = B::constant(0);
    auto const one = B::constant(1);
    for_each_pack<B>(w, task, [&](pack_position p, int n) MBIRK_FLAT {
      auto const x = load_lanes<B>(in(p), n);
      bad = select(is_nan(x), one, bad);
      minimum = min(masked<B>(x, minimum, n), minimum);  // the second operand survives a NaN
      maximum = max(masked<B>(x, maximum, n), maximum);
    });
    auto const out = partial + task * packs * B::lanes;
    B::store(out, minimum);
    B::store(out + B::lanes, maximum);
    B::store(out + 2 * B::lanes, bad);
  }
};

/// Histogram with `bins` equal bins over [start, start + width], binned as in NumPy: a guess in float32, corrected by
/// at most one bin so that edges[b] <= x < edges[b + 1]; the last bin is closed. Task t counts in table t modulo
/// tables: on the host each has its own, on a device they share them, because counts are exact in any order. A device
/// counts in shared memory where the table fits (block_counts.hpp).
template <class B> struct count_bins {
  strided_cursor<typename B::template cursor<float const>> in;
  float start, width;
  std::int32_t bins;
  float const* edges;    // bins + 1
  std::int32_t* counts;  // (tables, bins), zero on entry; null without data
  index_t tables;
  elementwise_range w;

  // Not inlined into the loop over tasks, which differs for every instrumentation policy: in some of them g++ 12 runs
  // out of registers, and a byte that it spills and reloads as a word made tracing twice as slow as no instrumentation.
  MBIRK_NOINLINE void operator()(index_t task) const noexcept {
    auto* const table = B::has_data ? counts + task % tables * bins : nullptr;
    each_count(task, [=](std::int32_t b, bool one) MBIRK_FLAT { B::count(table + b, one); });
  }
  MBIRK_HD std::int32_t entries() const noexcept { return bins; }
  /// Calls add(bin, true) for every element of a task.
  template <class Add> MBIRK_INLINE void each_count(index_t task, Add const& add) const noexcept {
    auto const low = B::broadcast(start), range = B::broadcast(width), number = B::broadcast(static_cast<float>(bins));
    // Local copies of members: the compiler must assume that a count may alias them, and reloading them for every
    // element costs registers.
    auto const end = static_cast<float>(bins);
    auto const last = bins - 1;
    auto const* const edge = edges;
    for_each_pack<B>(w, task, [&](pack_position p, int n) MBIRK_FLAT {
      auto const x = load_lanes<B>(in(p), n);
      B::each_lane(x, (x - low) / range * number, n, [=](float value, float guess) MBIRK_FLAT {
        std::int32_t b = guess < end ? static_cast<std::int32_t>(guess) : last;
        b -= value < edge[b];
        b += (value >= edge[b + 1]) & (b < last);
        add(b, true);
      });
      B::note_scalar({.compare = 3 * n, .convert = n, .integer = 4 * n});
    });
  }
};

/// Maps floats to unsigned integers of the same order.
MBIRK_HD inline std::uint32_t order_key(float x) noexcept {
  auto const bits = mbirk::detail::bits_as<std::uint32_t>(x);
  return bits ^ (bits >> 31 ? ~std::uint32_t{0} : std::uint32_t{1} << 31);
}
MBIRK_HD inline float from_order_key(std::uint32_t key) noexcept {
  return mbirk::detail::bits_as<float>(key ^ (key >> 31 ? std::uint32_t{1} << 31 : ~std::uint32_t{0}));
}

/// One round of a radix selection, from the most significant digit: for two searches at once, counts the next digit of
/// all keys that start with the known prefix. Three rounds of 11, 11 and 10 bits find any two order statistics,
/// whatever the data are.
struct radix_round { int shift = 0, bits = 0; };
inline constexpr radix_round radix_rounds[] = {{21, 11}, {10, 11}, {0, 10}};
inline constexpr std::int32_t radix_digits = 1 << 11;

template <class B> struct count_digits {
  /// Counts of two searches, and the number of elements below `limit`.
  static constexpr std::int32_t table_size = 2 * radix_digits + 1;
  strided_cursor<typename B::template cursor<float const>> in;
  radix_round round;
  std::uint32_t known[2];
  float limit;
  std::int32_t* counts;  // (tables, table_size), zero on entry; null without data
  index_t tables;
  elementwise_range w;

  MBIRK_NOINLINE void operator()(index_t task) const noexcept {
    auto* const table = B::has_data ? counts + task % tables * table_size : nullptr;
    each_count(task, [=](std::int32_t at, bool one) MBIRK_FLAT { B::count(table + at, one); });
  }
  MBIRK_HD static constexpr std::int32_t entries() noexcept { return table_size; }
  /// Calls add(entry, whether it counts there) for three entries of every element of a task.
  template <class Add> MBIRK_INLINE void each_count(index_t task, Add const& add) const noexcept {
    std::uint32_t const mask = (std::uint32_t{1} << round.bits) - 1;
    for_each_pack<B>(w, task, [&](pack_position p, int n) MBIRK_FLAT {
      auto const values = load_lanes<B>(in(p), n);
      B::each_lane(values, values, n, [&](float x, float) MBIRK_FLAT {
        std::uint32_t const key = order_key(x), digit = (key >> round.shift) & mask;
        std::uint64_t const prefix = std::uint64_t{key} >> (round.shift + round.bits);
        auto const place = static_cast<std::int32_t>(digit);
        add(place, prefix == known[0]);
        add(radix_digits + place, prefix == known[1]);
        add(2 * radix_digits, x < limit);
      });
      B::note_scalar({.compare = 3 * n, .integer = 9 * n});
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
