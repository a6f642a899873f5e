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

/// Both halves of 64 bits. On a device the compiler does not see where they come from: it would compute each of them
/// by itself, and carry every number that is added to the upper one through all 64 bits.
struct half_words {
  std::int32_t low, high;
};
MBIRK_HD inline half_words halves_of(std::int64_t x) noexcept {
#if defined(__CUDA_ARCH__)
  half_words halves;
  asm("mov.b64 {%0, %1}, %2;" : "=r"(halves.low), "=r"(halves.high) : "l"(x));
  return halves;
#else
  return {static_cast<std::int32_t>(x), static_cast<std::int32_t>(x >> 32)};
#endif
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
