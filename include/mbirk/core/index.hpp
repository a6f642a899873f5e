// Index type and index arithmetic. No arrays, no geometry.
#pragma once

#include <cstdint>

#include "mbirk/core/config.hpp"

namespace mbirk {

/// Counts and offsets of elements: 64 bits, because 2^31 voxels are ordinary.
using index_t = std::int64_t;

/// ceil(a / b) for a >= 0, b > 0.
MBIRK_HD constexpr index_t ceil_div(index_t a, index_t b) noexcept { return (a + b - 1) / b; }

/// The smallest multiple of b that is >= a, for a >= 0, b > 0.
MBIRK_HD constexpr index_t round_up(index_t a, index_t b) noexcept { return ceil_div(a, b) * b; }

/// std::min, max and clamp, which are no functions of a device. Packs have their own, which overload resolution prefers. Written with `if` as the standard
/// library has them: g++ makes other code of `?:`, and that of the kernels is tuned.
template <class T> MBIRK_HD constexpr T const& min(T const& a, T const& b) noexcept {
  if (b < a) return b;
  return a;
}
template <class T> MBIRK_HD constexpr T const& max(T const& a, T const& b) noexcept {
  if (a < b) return b;
  return a;
}
template <class T> MBIRK_HD constexpr T const& clamp(T const& x, T const& low, T const& high) noexcept { return min(max(x, low), high); }

}  // namespace mbirk
