// Cost of a dispatch: many steps in one launch compared with one launch per step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/profile/statistics.hpp"
#include "mbirk/profile/timing.hpp"

namespace mbirk::profile {

struct loop_options {
  int warm_up = 1;  ///< runs of each form that are not timed
  int rounds = 15;
  std::function<void()> prepare = {};  ///< called before each run, not timed
};

struct loop_result {
  std::int64_t steps = 0;
  summary loop, step_by_step;    ///< seconds of a whole run
  double dispatch = 0;  ///< additional seconds per step of the second form: median over rounds; may be negative
  interval dispatch_range{0, 0, 0};  ///< 95 % interval, see median_interval
  double dispatch_share = 0;     ///< share of the second form's time

  /// "100 steps: 1.2 ms in one launch, 3.4 ms by a launch a step; a dispatch costs 22 us [20 us, 23 us],
  /// 65 % of a step"
  std::string text() const {
    using detail::time_text;
    return std::to_string(steps) + " steps: " + time_text(loop.p50) + " in one launch, " + time_text(step_by_step.p50) +
           " by a launch a step; a dispatch costs " + time_text(dispatch) + " [" + time_text(dispatch_range.low) +
           ", " + time_text(dispatch_range.high) + "]" + detail::formatted(", %.0f %% of a step", 100 * dispatch_share);
  }
};

/// Evaluates the seconds of runs in rounds, each with one run of either form.
inline loop_result loop_result_of(std::int64_t steps, std::vector<double> const& loop,
                                  std::vector<double> const& step_by_step) {
  require(steps > 0 && !loop.empty() && loop.size() == step_by_step.size(), [&] {
    return "loop_against_steps: " + std::to_string(steps) + " steps, " + std::to_string(loop.size()) +
           " rounds; expected 1 or more";
  });
  std::vector<double> each;
  for (std::size_t r = 0; r < loop.size(); ++r)
    each.push_back((step_by_step[r] - loop[r]) / static_cast<double>(steps));
  loop_result result{steps, summarise(loop), summarise(step_by_step), median(each), median_interval(each), 0};
  if (result.step_by_step.p50 > 0)
    result.dispatch_share = result.dispatch * static_cast<double>(steps) / result.step_by_step.p50;
  return result;
}

/// Times loop(steps), which does all steps in one launch, against `steps` calls of step(), each a separate launch. The
/// two forms alternate, and so does the one that goes first. Both functions must return only when their work is
/// complete. For devices see profile/graph_loop.hpp.
/// @throws parameter_error for invalid options, and whatever the functions throw.
template <class Loop, class Step>
loop_result loop_against_steps(Loop&& loop, Step&& step, std::int64_t steps, loop_options const& options = {}) {
  require(options.warm_up >= 0,
          [&] { return "loop_against_steps: warm_up is " + std::to_string(options.warm_up) + ", less than 0"; });
  auto const timed = [&](auto const& run) {
    if (options.prepare) options.prepare();
    return seconds_of(run);
  };
  auto const whole = [&] { loop(steps); };
  auto const single = [&] {
    for (std::int64_t k = 0; k < steps; ++k) step();
  };
  std::vector<double> first, second;
  for (int round = -options.warm_up; round < options.rounds; ++round) {
    double a = 0, b = 0;
    if (round % 2 == 0) {
      a = timed(whole);
      b = timed(single);
    } else {
      b = timed(single);
      a = timed(whole);
    }
    if (round >= 0) {
      first.push_back(a);
      second.push_back(b);
    }
  }
  return loop_result_of(steps, first, second);
}

}  // namespace mbirk::profile
