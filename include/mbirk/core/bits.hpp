// Bit operations for host and device: the functions of <bit> cannot be called in device code.
#pragma once

#include <cstdint>

#include "mbirk/core/config.hpp"

namespace mbirk::detail {

/// Reinterprets the bits of x as another type of the same size (std::bit_cast).
template <class To, class From> MBIRK_HD constexpr To bits_as(From const& x) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, x);
}

/// Number of set bits (std::popcount).
MBIRK_HD inline int bit_count(std::uint64_t x) noexcept {
#if defined(__CUDA_ARCH__)
  return __popcll(static_cast<long long>(x));
#else
  return __builtin_popcountll(x);
#endif
}

/// Index of the lowest set bit; x must not be 0.
MBIRK_HD inline int lowest_bit(std::uint32_t x) noexcept {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(x)) - 1;
#else
  return __builtin_ctz(x);
#endif
}

}  // namespace mbirk::detail
