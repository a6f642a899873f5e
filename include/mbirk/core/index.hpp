// Index type and index arithmetic. No arrays, no geometry.
#pragma once

#include <cstdint>

#include "mbirk/core/config.hpp"

namespace mbirk {

/// Element counts and offsets. 64 bits, because volumes of 2^31 voxels and more are common.
using index_t = std::int64_t;

/// ceil(a / b) for a >= 0, b > 0.
MBIRK_HD constexpr index_t ceil_div(index_t a, index_t b) noexcept { return (a + b - 1) / b; }

/// The smallest multiple of b that is >= a, for a >= 0, b > 0.
MBIRK_HD constexpr index_t round_up(index_t a, index_t b) noexcept { return ceil_div(a, b) * b; }

/// std::min, max and clamp for host and device, where the std functions cannot be called. Packs have their own
/// overloads, which overload resolution prefers. Written with `if`, as in the standard library: g++ generates different
/// code for `?:`, and the kernels are tuned for this form.
template <class T> MBIRK_HD constexpr T const& min(T const& a, T const& b) noexcept {
  if (b < a) return b;
  return a;
}
template <class T> MBIRK_HD constexpr T const& max(T const& a, T const& b) noexcept {
  if (a < b) return b;
  return a;
}
template <class T> MBIRK_HD constexpr T const& clamp(T const& x, T const& low, T const& high) noexcept {
  return min(max(x, low), high);
}

}  // namespace mbirk
