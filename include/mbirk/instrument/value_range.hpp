// Range of the values of an array: what decides how many bits it needs.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>

#include "mbirk/core/index.hpp"

namespace mbirk::instrument {

struct value_range {
  bool valid = false;
  double min = 0, max = 0, min_nonzero_magnitude = 0;
  std::map<int, std::uint64_t> exponents;  ///< floor(log2 |x|) -> how many
  std::uint64_t zeros = 0, not_finite = 0;
};

/// One pass over n values; subnormals count as exponent -127.
inline value_range scan_values(float const* x, index_t n) {
  value_range r;
  r.valid = n > 0;
  std::array<std::uint64_t, 256> by_exponent{};
  float low = INFINITY, high = -INFINITY, least = INFINITY;
  for (index_t k = 0; k < n; ++k) {
    std::uint32_t bits;
    std::memcpy(&bits, x + k, 4);
    std::uint32_t const exponent = bits >> 23 & 255;
    if (exponent == 255) { ++r.not_finite; continue; }
    low = std::min(low, x[k]), high = std::max(high, x[k]);
    if ((bits & 0x7fffffffu) == 0) { ++r.zeros; continue; }
    ++by_exponent[exponent];
    least = std::min(least, std::abs(x[k]));
  }
  if (low <= high) r.min = static_cast<double>(low), r.max = static_cast<double>(high);
  if (std::isfinite(least)) r.min_nonzero_magnitude = static_cast<double>(least);
  for (int e = 0; e < 255; ++e)
    if (by_exponent[static_cast<std::size_t>(e)]) r.exponents[e - 127] = by_exponent[static_cast<std::size_t>(e)];
  return r;
}

}  // namespace mbirk::instrument
