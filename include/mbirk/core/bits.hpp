// Bits of numbers, on both sides: the functions of <bit> are no functions of a device.
#pragma once

#include <cstdint>

#include "mbirk/core/config.hpp"

namespace mbirk::detail {

/// The bits of x as another type of the same size.
template <class To, class From> MBIRK_HD constexpr To bits_as(From const& x) noexcept {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, x);
}

/// Bits that are 1.
MBIRK_HD inline int bit_count(std::uint64_t x) noexcept {
#if defined(__CUDA_ARCH__)
  return __popcll(static_cast<long long>(x));
#else
  return __builtin_popcountll(x);
#endif
}

/// Place of the lowest bit that is 1; there must be one.
MBIRK_HD inline int lowest_bit(std::uint32_t x) noexcept {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(x)) - 1;
#else
  return __builtin_ctz(x);
#endif
}

}  // namespace mbirk::detail
