// Statistics of timings: running moments, percentiles, and an interval for a median that assumes no distribution.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"

namespace mbirk::profile {

/// Mean and spread of a stream of numbers, which are not stored. Source: B. P. Welford, Technometrics 4 (1962) 419.
class running_stats {
 public:
  void add(double x) noexcept {
    ++count_;
    double const d = x - mean_;
    mean_ += d / static_cast<double>(count_);
    squares_ += d * (x - mean_);
    total_ += x;
    min_ = std::min(min_, x);
    max_ = std::max(max_, x);
  }
  std::int64_t count() const noexcept { return count_; }
  double total() const noexcept { return total_; }
  double mean() const noexcept { return mean_; }
  /// Sample standard deviation (divisor count - 1); 0 for fewer than two numbers.
  double standard_deviation() const noexcept {
    return count_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
  }
  double min() const noexcept { return count_ ? min_ : 0; }
  double max() const noexcept { return count_ ? max_ : 0; }

 private:
  std::int64_t count_ = 0;
  double mean_ = 0, squares_ = 0, total_ = 0;
  double min_ = std::numeric_limits<double>::infinity(), max_ = -std::numeric_limits<double>::infinity();
};

/// The p-th percentile of ascending numbers with linear interpolation: definition 7 of R. J. Hyndman and Y. Fan, The
/// American Statistician 50 (1996) 361, the default of numpy.
/// @throws parameter_error when there are no numbers, or p lies outside [0, 100].
inline double percentile_of_sorted(std::span<double const> sorted, double p) {
  require(!sorted.empty(), [] { return "percentile: there are no numbers"; });
  require(p >= 0 && p <= 100,
          [&] { return "percentile: p is " + mbirk::detail::number_text(p) + ", not within [0, 100]"; });
  double const at = p / 100 * static_cast<double>(sorted.size() - 1);
  auto const below = static_cast<std::size_t>(at);
  if (below + 1 == sorted.size()) return sorted.back();
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[below + 1] - sorted[below]);
}
inline double percentile(std::span<double const> values, double p) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return percentile_of_sorted(sorted, p);
}
inline double median(std::span<double const> values) { return percentile(values, 50); }

struct interval {
  double low, high;
  double coverage;  ///< lower bound of the probability that it contains the true value
};

/// A confidence interval for the median between two order statistics: [x(r), x(n + 1 - r)] with the largest r whose
/// coverage, 1 - 2 P(Binomial(n, 1/2) < r), reaches `level`. It holds for independent numbers of any distribution.
/// Source: H. A. David and H. N. Nagaraja, Order Statistics, 3rd ed. (2003), 7.1. With too few numbers (5 for 95 %)
/// there is no such pair; the interval then spans all numbers, with coverage 1.
inline interval median_interval(std::span<double const> values, double level = 0.95) {
  require(level > 0 && level < 1,
          [&] { return "median_interval: level is " + mbirk::detail::number_text(level) + ", not within (0, 1)"; });
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  auto const n = sorted.size();
  // Logarithm of P(Binomial = r - 1), which itself may underflow a double.
  double logarithm = -static_cast<double>(n) * std::numbers::ln2;
  double below = 0;
  interval found{-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(), 1};
  for (std::size_t r = 1; 2 * r <= n; ++r) {
    below += std::exp(logarithm);
    if (1 - 2 * below < level) break;
    found = {sorted[r - 1], sorted[n - r], 1 - 2 * below};
    logarithm += std::log(static_cast<double>(n - r + 1) / static_cast<double>(r));
  }
  return found;
}

/// Exponent p of the least-squares line through the logarithms of (x, y), y ~ x^p; only pairs with y > 0 count. Empty
/// for fewer than two different x.
inline std::optional<double> growth_exponent(std::span<std::pair<double, double> const> points) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (auto const& [at, value] : points)
    if (value > 0) {
      n += 1;
      x += std::log(at);
      y += std::log(value);
      xx += std::log(at) * std::log(at);
      xy += std::log(at) * std::log(value);
    }
  auto const spread = n * xx - x * x;
  if (n < 2 || !(spread > 0)) return std::nullopt;
  return (n * xy - x * y) / spread;
}

/// Summary of a list of timings, in their unit.
struct summary {
  std::int64_t count = 0;
  double mean = 0, standard_deviation = 0, min = 0, p50 = 0, p90 = 0, p99 = 0, max = 0;
  interval median{0, 0, 0};  ///< 95 % interval
};

/// @throws parameter_error when the list is empty.
inline summary summarise(std::span<double const> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  running_stats moments;
  for (double const x : values) moments.add(x);
  auto const p = [&](double at) { return percentile_of_sorted(sorted, at); };
  return {moments.count(), moments.mean(), moments.standard_deviation(), p(0), p(50), p(90),
          p(99),           p(100),         median_interval(sorted)};
}

}  // namespace mbirk::profile
