// Relative error of results against expected values, normalised by the largest expected magnitude.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "mbirk/core/finite.hpp"

namespace mbirk::detail {

/// max |got - expected| / max |expected|, or the unscaled maximum difference if every expected value is 0; NaN if any
/// difference is not finite.
template <class A, class B> double relative_difference(A const& got, B const& expected) {
  double largest = 0, difference = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    double const e = static_cast<double>(expected[k]), d = std::abs(static_cast<double>(got[k]) - e);
    if (!is_finite(d)) return std::numeric_limits<double>::quiet_NaN();
    largest = std::max(largest, std::abs(e));
    difference = std::max(difference, d);
  }
  return largest > 0 ? difference / largest : difference;
}

}  // namespace mbirk::detail
