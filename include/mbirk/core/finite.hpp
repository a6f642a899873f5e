// Whether a number is finite, by its bits: std::isfinite() is always true under a caller's -ffast-math.
#pragma once

#include <bit>
#include <cstdint>

namespace mbirk::detail {

constexpr bool is_finite(float x) noexcept { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u; }
constexpr bool is_finite(double x) noexcept { return (std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000u) != 0x7ff0000000000000u; }

}  // namespace mbirk::detail
