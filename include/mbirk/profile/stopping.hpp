// When an operation has been timed often enough.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "mbirk/profile/disturbance.hpp"
#include "mbirk/profile/statistics.hpp"

namespace mbirk::profile {

/// Stops when the 95 % interval of the median of the clean calls is narrow. The idea is that of NVBench's stopping
/// criteria, which bound the relative deviation; an interval of order statistics assumes no distribution.
class stopping_rule {
 public:
  /// @param least  calls that an operation needs, by the seconds of one
  /// @param width  of the interval, as a share of the median
  explicit stopping_rule(std::size_t (*least)(double) = least_calls, double width = 0.04)
      : needed_(least), width_(width) {}

  void add(double seconds, bool clean) {
    least_ = calls_++ == 0 ? seconds : std::min(least_, seconds);
    if (clean) clean_.push_back(seconds);
  }

  /// Calls still to be made, whatever the budget is.
  std::size_t owed() const noexcept {
    std::size_t const least = calls_ == 0 ? 1 : needed_(least_);
    return least > calls_ ? least - calls_ : 0;
  }
  bool enough() const {
    if (owed() > 0 || clean_.size() < needed_(least_)) return false;
    auto const range = median_interval(clean_);
    return range.coverage < 1 && range.high - range.low <= width_ * median(clean_);
  }
  /// Seconds of the fastest call; 0 before the first.
  double fastest() const noexcept { return least_; }

 private:
  std::size_t (*needed_)(double);
  double width_, least_ = 0;
  std::size_t calls_ = 0;
  std::vector<double> clean_;
};

}  // namespace mbirk::profile
