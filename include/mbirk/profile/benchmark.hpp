// Repeated timing of a function: mean, spread, percentiles; and an assertion for regression tests.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/profile/statistics.hpp"
#include "mbirk/profile/timing.hpp"

namespace mbirk::profile {

struct benchmark_options {
  int warm_up = 3;           ///< calls reported separately
  int runs = 30;
  int calls_per_run = 1;     ///< more than 1 for functions that take less than a few microseconds
  std::function<void()> prepare = {};  ///< called before each run, not timed
};

struct benchmark_result {
  std::vector<double> warm_up, runs;  ///< seconds per call, in the order of the calls
  summary seconds;                    ///< statistics of `runs`

  /// "30 runs: mean 1.23 ms, deviation 0.1 ms, min ..., p50 ..., p90 ..., p99 ..., max ...;
  /// first of 3 for warm-up 4.5 ms"
  std::string text() const {
    using detail::time_text;
    auto const& s = seconds;
    auto text = std::to_string(s.count) + " runs: mean " + time_text(s.mean) + ", deviation " +
                time_text(s.standard_deviation) + ", min " + time_text(s.min) + ", p50 " + time_text(s.p50) +
                ", p90 " + time_text(s.p90) + ", p99 " + time_text(s.p99) + ", max " + time_text(s.max);
    if (!warm_up.empty())
      text += "; first of " + std::to_string(warm_up.size()) + " for warm-up " + time_text(warm_up.front());
    return text;
  }
};

/// Times fn(); its result, if any, is kept.
/// @throws parameter_error for invalid options, and whatever fn throws.
template <class F> benchmark_result benchmark(F&& fn, benchmark_options const& options = {}) {
  require(options.warm_up >= 0 && options.runs > 0 && options.calls_per_run > 0, [&] {
    return "benchmark: warm_up = " + std::to_string(options.warm_up) + ", runs = " + std::to_string(options.runs) +
           ", calls_per_run = " + std::to_string(options.calls_per_run) + "; expected 0 or more, 1 or more, 1 or more";
  });
  benchmark_result result;
  for (int k = 0; k < options.warm_up; ++k) {
    if (options.prepare) options.prepare();
    result.warm_up.push_back(seconds_of(fn));
  }
  for (int r = 0; r < options.runs; ++r) {
    if (options.prepare) options.prepare();
    double const time = seconds_of([&] {
      for (int k = 0; k < options.calls_per_run; ++k) {
        if constexpr (std::is_void_v<decltype(fn())>) fn();
        else keep(fn());
      }
    });
    result.runs.push_back(time / options.calls_per_run);
  }
  result.seconds = summarise(result.runs);
  return result;
}

/// Result of an assertion, with a sentence for the log.
struct expectation {
  bool ok;
  std::string text;
  explicit operator bool() const noexcept { return ok; }
};

/// Checks that a median is at most (1 + tolerance) times the baseline. It fails only when the whole 95 % interval of
/// the median lies above that limit, so a noisy machine alone does not fail a build; with fewer than six runs, which
/// have no interval, the median itself decides.
/// @param baseline  seconds per call
/// @param tolerance  0.1 for 10 %
/// @throws parameter_error when the baseline is not positive or the tolerance is negative.
inline expectation expect_not_slower(benchmark_result const& result, double baseline, double tolerance) {
  require(baseline > 0 && tolerance >= 0, [&] {
    return "expect_not_slower: baseline = " + mbirk::detail::number_text(baseline) +
           " s, tolerance = " + mbirk::detail::number_text(tolerance) + "; expected more than 0, 0 or more";
  });
  using detail::time_text;
  double const limit = baseline * (1 + tolerance);
  auto const& median = result.seconds.median;
  bool const has_interval = median.coverage < 1;
  bool const ok = !((has_interval ? median.low : result.seconds.p50) > limit);
  auto text = "median " + time_text(result.seconds.p50);
  if (has_interval) text += " [" + time_text(median.low) + ", " + time_text(median.high) + "]";
  text += detail::formatted(", %.3g times the baseline of ", result.seconds.p50 / baseline) + time_text(baseline) +
          detail::formatted("; allowed are %.3g times: ", 1 + tolerance) + (ok ? "not slower" : "SLOWER");
  return {ok, text};
}
inline expectation expect_not_slower(benchmark_result const& result, benchmark_result const& baseline,
                                     double tolerance) {
  return expect_not_slower(result, baseline.seconds.p50, tolerance);
}

}  // namespace mbirk::profile
