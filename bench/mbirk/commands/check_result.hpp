// Comparison of a result with its reference, exactly as in tests/golden/compare.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "mbirk/io/npy.hpp"

namespace mbirk::program {

struct check_outcome {
  bool ok = false;
  bool same_shape = true;
  double error = 0;  ///< largest error of all elements, or excluding the outliers if those are allowed
};

/// The comparison of a result with its reference, element by element in any number of parts.
class result_check {
 public:
  /// @param rtol, outliers  see check_result
  result_check(double rtol, double outliers) : rtol_(rtol), outliers_(outliers) {}

  /// The largest |reference|; all of it must be seen before anything is compared.
  template <class T> void see(std::span<T const> reference) {
    for (auto const x : reference) largest_ = std::max(std::abs(static_cast<double>(x)), largest_);
  }
  template <class T> void compare(std::span<T const> got, std::span<T const> reference) {
    double const scale = rtol_ == 0 ? 1 : std::max(largest_, 1e-30);
    for (std::size_t k = 0; k < got.size(); ++k) {
      double const error = std::abs(static_cast<double>(got[k]) - static_cast<double>(reference[k])) / scale;
      if (error <= rtol_) within_ = std::max(within_, error);
      else ++out_;
      if (error > overall_) overall_ = error;
    }
    elements_ += static_cast<double>(got.size());
  }
  check_outcome outcome() const {
    check_outcome r;
    double const allowed = rtol_ == 0 ? 0 : outliers_ * elements_;
    r.ok = static_cast<double>(out_) <= allowed;
    r.error = r.ok ? within_ : overall_ > 0 ? overall_ : std::nan("");
    return r;
  }

 private:
  double rtol_, outliers_, largest_ = 0, elements_ = 0;
  double within_ = 0, overall_ = 0;  // NaN does not affect them and counts as an outlier
  std::size_t out_ = 0;
};

/// rtol > 0: |a - b| <= rtol max|reference|, except for a share `outliers` of the elements. rtol = 0: equality. NaN
/// never passes.
template <class T>
check_outcome check_result(npy_array<T> const& got, npy_array<T> const& reference, double rtol, double outliers) {
  if (got.shape != reference.shape) return {.same_shape = false};
  result_check check(rtol, outliers);
  check.see(std::span<T const>(reference.data));
  check.compare(std::span<T const>(got.data), std::span<T const>(reference.data));
  return check.outcome();
}

}  // namespace mbirk::program
