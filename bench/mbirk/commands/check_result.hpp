// Comparison of a result with its reference, exactly as in tests/golden/compare.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "mbirk/io/npy.hpp"

namespace mbirk::program {

struct check_outcome {
  bool ok = false;
  bool same_shape = true;
  double error = 0;  ///< largest error of all elements, or excluding the outliers if those are allowed
};

/// rtol > 0: |a - b| <= rtol max|reference|, except for a share `outliers` of the elements. rtol = 0: equality. NaN
/// never passes.
template <class T>
check_outcome check_result(npy_array<T> const& got, npy_array<T> const& reference, double rtol, double outliers) {
  check_outcome r;
  r.same_shape = got.shape == reference.shape;
  if (!r.same_shape) return r;
  double largest = 0;
  for (auto const x : reference.data) largest = std::max(std::abs(static_cast<double>(x)), largest);
  double const scale = rtol == 0 ? 1 : std::max(largest, 1e-30);

  double within = 0, overall = 0;  // NaN does not affect them and counts as an outlier
  std::size_t out = 0;
  for (std::size_t k = 0; k < got.data.size(); ++k) {
    double const error = std::abs(static_cast<double>(got.data[k]) - static_cast<double>(reference.data[k])) / scale;
    if (error <= rtol) within = std::max(within, error);
    else ++out;
    if (error > overall) overall = error;
  }
  double const allowed = rtol == 0 ? 0 : outliers * static_cast<double>(got.data.size());
  r.ok = static_cast<double>(out) <= allowed;
  r.error = r.ok ? within : overall > 0 ? overall : std::nan("");
  return r;
}

}  // namespace mbirk::program
