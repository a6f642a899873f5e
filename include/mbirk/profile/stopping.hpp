// When an operation has been timed often enough.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "mbirk/profile/disturbance.hpp"
#include "mbirk/profile/statistics.hpp"

namespace mbirk::profile {

/// Stops when the 95 % interval of the median of the clean calls is narrow and they come from at least three batches,
/// because consecutive calls are correlated. The idea is that of NVBench's stopping criteria, which bound the relative
/// deviation; an interval of order statistics assumes no distribution.
class stopping_rule {
 public:
  /// @param needed  number of calls that an operation needs, as a function of the seconds of one
  /// @param width   maximum width of the interval, as a share of the median
  explicit stopping_rule(std::size_t (*needed)(double) = min_calls, double width = 0.04)
      : needed_(needed), width_(width) {}

  /// Adds a batch of calls.
  void add(std::span<double const> seconds, bool clean) {
    for (double const t : seconds) fastest_ = calls_++ == 0 ? t : std::min(fastest_, t);
    if (!clean) return;
    clean_.insert(clean_.end(), seconds.begin(), seconds.end());
    ++clean_batches_;
  }

  /// Calls still to be made, whatever the budget is.
  std::size_t owed() const noexcept {
    std::size_t const needed = calls_ == 0 ? 1 : needed_(fastest_);
    return needed > calls_ ? needed - calls_ : 0;
  }
  bool enough() const {
    if (owed() > 0 || clean_batches_ < 3 || clean_.size() < needed_(fastest_)) return false;
    auto const range = median_interval(clean_);
    return range.coverage < 1 && range.high - range.low <= width_ * median(clean_);
  }
  /// Seconds of the fastest call; 0 before the first.
  double fastest() const noexcept { return fastest_; }

 private:
  std::size_t (*needed_)(double);
  double width_, fastest_ = 0;
  std::size_t calls_ = 0, clean_batches_ = 0;
  std::vector<double> clean_;
};

}  // namespace mbirk::profile
