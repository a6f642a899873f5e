// Range of the values of an array, which determines how many bits it needs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <type_traits>
#include <vector>

#include "mbirk/core/index.hpp"

namespace mbirk::instrument {

struct value_range {
  bool valid = false;
  double min = 0, max = 0, min_nonzero_magnitude = 0;
  std::map<int, std::uint64_t> exponents;  ///< floor(log2 |x|) -> number of values
  std::uint64_t zeros = 0, not_finite = 0;

  /// Merges the two ranges.
  value_range& operator+=(value_range const& o) {
    if (!o.valid) return *this;
    bool const first = zeros == 0 && exponents.empty();  // empty so far, or no finite value
    if (o.zeros > 0 || !o.exponents.empty()) {
      min = first ? o.min : std::min(min, o.min);
      max = first ? o.max : std::max(max, o.max);
    }
    if (!o.exponents.empty())
      min_nonzero_magnitude =
          exponents.empty() ? o.min_nonzero_magnitude : std::min(min_nonzero_magnitude, o.min_nonzero_magnitude);
    for (auto const& [e, n] : o.exponents) exponents[e] += n;
    valid = true;
    zeros += o.zeros;
    not_finite += o.not_finite;
    return *this;
  }
};

/// Range of n values in one pass; subnormals count as exponent -127, for double -1023.
/// @param words  if not null, one bit per 4 bytes of the array: values whose first word is not set are skipped.
template <std::floating_point T>
value_range scan_values(T const* x, index_t n, std::vector<std::uint64_t> const* words = nullptr) {
  using bits_type = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr int mantissa = std::numeric_limits<T>::digits - 1, bias = std::numeric_limits<T>::max_exponent - 1;
  constexpr bits_type all = 2 * bias + 1;  // exponent of infinities and NaN
  value_range r;
  std::array<std::uint64_t, all + 1> by_exponent{};
  T low = INFINITY, high = -INFINITY, least = INFINITY;
  for (index_t k = 0; k < n; ++k) {
    if (words) {
      auto const word = static_cast<std::size_t>(k) * (sizeof(T) / 4);
      if (!((*words)[word / 64] >> word % 64 & 1)) continue;
    }
    r.valid = true;
    auto const bits = std::bit_cast<bits_type>(x[k]);
    bits_type const exponent = bits >> mantissa & all;
    if (exponent == all) { ++r.not_finite; continue; }
    low = std::min(low, x[k]);
    high = std::max(high, x[k]);
    if (bits << 1 == 0) { ++r.zeros; continue; }
    ++by_exponent[exponent];
    least = std::min(least, std::abs(x[k]));
  }
  if (low <= high) {
    r.min = static_cast<double>(low);
    r.max = static_cast<double>(high);
  }
  if (std::isfinite(least)) r.min_nonzero_magnitude = static_cast<double>(least);
  for (bits_type e = 0; e < all; ++e)
    if (by_exponent[e]) r.exponents[static_cast<int>(e) - bias] = by_exponent[e];
  return r;
}

}  // namespace mbirk::instrument
