// Decides by the growth of smaller sizes which parts of `mbirk profile` would take too long.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "mbirk/core/index.hpp"

namespace mbirk::program {

/// Predicts how long a part of a run takes at a size, and grants each part at most a fixed share of the time that is
/// left. All parts together then take less than the whole time, if no part takes longer than predicted.
class work_forecast {
 public:
  /// No part may take more than the time left divided by this.
  static constexpr double share = 15;
  /// Work on N^3 voxels grows at least with N^3, and projections of N/2 views with N^4.
  static constexpr double least_growth = 3, most_growth = 4;

  /// @param seconds  of the whole run; infinity: every part is granted
  explicit work_forecast(double seconds = std::numeric_limits<double>::infinity()) : seconds_(seconds) {}

  bool limited() const noexcept { return std::isfinite(seconds_); }

  /// Records what a part took at a size.
  void add(std::string const& part, index_t n, double seconds) { known_[part][n] = seconds; }

  /// Seconds of a part, from the two largest known sizes below n; null if there is none.
  std::optional<double> predicted(std::string const& part, index_t n) const {
    auto const found = known_.find(part);
    if (found == known_.end()) return std::nullopt;
    auto const& sizes = found->second;
    auto const above = sizes.lower_bound(n);
    if (above == sizes.begin()) return std::nullopt;
    auto const last = std::prev(above);
    double growth = most_growth;
    if (last != sizes.begin()) {
      auto const before = std::prev(last);
      if (before->second > 0 && last->second > 0)
        growth = std::clamp(exponent(before->first, last->first, last->second / before->second), least_growth,
                            most_growth);
    }
    return last->second * std::pow(static_cast<double>(n) / static_cast<double>(last->first), growth);
  }

  /// Seconds that a part took at n, otherwise what is predicted.
  std::optional<double> at_or_predicted(std::string const& part, index_t n) const {
    auto const found = known_.find(part);
    if (found == known_.end()) return std::nullopt;
    if (auto const at = found->second.find(n); at != found->second.end()) return at->second;
    return predicted(part, n);
  }

  /// Most seconds that a part may take if it begins so many seconds after the start.
  double limit(double elapsed) const { return std::max(0.0, seconds_ - elapsed) / share; }

 private:
  static double exponent(index_t from, index_t to, double ratio) {
    return std::log(ratio) / std::log(static_cast<double>(to) / static_cast<double>(from));
  }

  double seconds_;
  std::map<std::string, std::map<index_t, double>> known_;
};

}  // namespace mbirk::program
