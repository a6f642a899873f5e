// Finiteness test on the bit pattern: std::isfinite() is always true if the caller compiles with -ffast-math.
#pragma once

#include "mbirk/core/bits.hpp"

namespace mbirk::detail {

MBIRK_HD constexpr bool is_finite(float x) noexcept { return (bits_as<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u; }
MBIRK_HD constexpr bool is_finite(double x) noexcept {
  return (bits_as<std::uint64_t>(x) & 0x7ff0000000000000u) != 0x7ff0000000000000u;
}

}  // namespace mbirk::detail
