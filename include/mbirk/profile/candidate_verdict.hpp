// The verdict on an operation for a device: candidate, candidate only in a resident pipeline, or no candidate, each
// with reasons in words.
#pragma once

#include "mbirk/profile/candidate.hpp"

namespace mbirk::profile::fpga {

enum class verdict_class { candidate, resident, not_a_candidate, none };
inline char const* name_of(verdict_class v) {
  static constexpr char const* names[] = {"candidate", "candidate only in a resident pipeline", "not a candidate",
                                          "no verdict"};
  return names[static_cast<int>(v)];
}

struct verdict {
  verdict_class what = verdict_class::none;
  std::string goal{};  ///< "speed" or "energy"; empty for other classes
  bool firm = false;   ///< the interval does not cross the threshold
  std::vector<std::string> reasons{};
};

namespace detail {

inline std::string times(double x) {
  return mbirk::detail::number_text(std::round(x * (x < 10 ? 100 : 10)) / (x < 10 ? 100 : 10));
}
inline std::string percent(double x) { return mbirk::detail::number_text(std::round(100 * x)) + " %"; }

/// Goal met by a pair of speed and energy ratios; empty if none. Speed is checked first.
inline std::string passes(interval const& speed, interval const& energy, decision_rules const& r) {
  if (speed.nominal >= r.speed_up.value && speed.low >= 1) return "speed";
  bool const saves = energy.nominal >= r.energy_ratio.value && energy.low >= r.energy_low.value;
  return speed.nominal >= r.least_speed.value && saves ? "energy" : "";
}

}  // namespace detail

/// Applies the rules in order; the first match decides.
/// @param share  share of the pipeline; negative: unknown
inline verdict decide(design const& x, estimate const& e, comparison const& c, opponent const& b, double share,
                      decision_rules const& r = {}) {
  using detail::times;
  verdict v;
  v.what = verdict_class::not_a_candidate;
  v.firm = true;
  double const need = r.least_speed.value * x.items / b.seconds;
  if (share >= 0 && share < r.least_share.value) {
    v.reasons = {"only " + detail::percent(share) + " of its pipeline: nothing to gain, however fast"};
    return v;
  }
  if (e.memory < need) {
    v.reasons = {"buffer: with what fits on the chip its memory allows " +
                 times(e.memory / need * r.least_speed.value) + " of the present rate"};
    return v;
  }
  if (x.interval.value > 1 && e.compute < need) {
    v.reasons = {"dependence: an item every " + std::to_string(x.interval.value) + " clocks (" + x.interval.cause +
                 ")"};
    return v;
  }
  if (v.goal = detail::passes(c.speed_alone, c.energy_alone, r); !v.goal.empty()) {
    v.what = verdict_class::candidate;
    bool const speed = v.goal == "speed";
    v.firm = speed ? c.speed_alone.low >= r.speed_up.value
                   : c.energy_alone.low >= r.energy_ratio.value && c.speed_alone.low >= r.least_speed.value;
    v.reasons = {speed ? times(c.speed_alone.nominal) + " times as fast with its transfers, bounded by " + e.bounded_by
                       : times(c.energy_alone.nominal) + " times less energy with its transfers at " +
                             times(c.speed_alone.nominal) + " times the speed"};
    return v;
  }
  if (auto const goal = detail::passes(c.speed_resident, c.energy_resident, r); !goal.empty()) {
    bool const speed = goal == "speed";
    double const calls = speed ? c.break_even : c.break_even_energy;
    if (calls >= 0 && std::ceil(calls) <= r.calls.value) {
      v.what = verdict_class::resident;
      v.goal = goal;
      v.firm = speed ? c.speed_resident.low >= r.speed_up.value
                     : c.energy_resident.low >= r.energy_ratio.value && c.speed_resident.low >= r.least_speed.value;
      v.reasons = {"transfers are " + detail::percent(e.tax) + " of a single call; with data on the card " +
                   (speed ? times(c.speed_resident.nominal) + " times as fast"
                          : times(c.energy_resident.nominal) + " times less energy") +
                   " after " + times(std::max(1.0, std::ceil(calls))) + " calls"};
      return v;
    }
    v.firm = false;
    v.reasons = {"transfers take " + detail::percent(e.tax) + " of a call and pay after " +
                 (calls < 0 ? "no number of" : times(std::ceil(calls))) + " calls, more than " + times(r.calls.value)};
    return v;
  }
  v.firm = c.speed_resident.high < r.speed_up.value &&
           (c.energy_resident.high < r.energy_ratio.value || c.speed_resident.high < r.least_speed.value);
  v.reasons = {"even with data on the card " + times(c.speed_resident.nominal) + " times the speed and " +
               times(c.energy_resident.nominal) + " times less energy, bounded by " + e.bounded_by};
  return v;
}

}  // namespace mbirk::profile::fpga
