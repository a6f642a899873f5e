// Benchmarks: the number of calls, and the assertion against numbers by hand.
#include "mbirk/profile/benchmark.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/messages.hpp"

namespace {

using namespace mbirk;

profile::benchmark_result of(std::vector<double> runs) {
  profile::benchmark_result r;
  r.runs = std::move(runs), r.seconds = profile::summarise(r.runs);
  return r;
}

TEST(Benchmark, CallsAndKeepsWhatItSays) {
  int calls = 0, prepared = 0;
  auto const result = profile::benchmark(
      [&] { return ++calls; }, {.warm_up = 2, .runs = 10, .calls_per_run = 7, .prepare = [&] { ++prepared; }});
  EXPECT_EQ(calls, 2 + 10 * 7);
  EXPECT_EQ(prepared, 2 + 10);
  EXPECT_EQ(result.warm_up.size(), 2u);
  EXPECT_EQ(result.runs.size(), 10u);
  EXPECT_EQ(result.seconds.count, 10);
  EXPECT_LE(result.seconds.min, result.seconds.p50);
  EXPECT_LE(result.seconds.p99, result.seconds.max);
  profile::benchmark([&] { ++calls; }, {.warm_up = 0, .runs = 1});
  EXPECT_EQ(calls, 73);
}

TEST(Benchmark, BadArguments) {
  for (auto const& bad : {profile::benchmark_options{.warm_up = -1}, {.runs = 0}, {.calls_per_run = 0}})
    EXPECT_THROW(profile::benchmark([] {}, bad), parameter_error);
}

TEST(Benchmark, AsText) {
  auto result = of({1e-3, 2e-3, 3e-3});
  result.warm_up = {5e-3};
  EXPECT_EQ(result.text(),
            "3 runs: mean 2 ms, deviation 1 ms, min 1 ms, p50 2 ms, p90 2.8 ms, p99 2.98 ms, max 3 ms; first of 1 for "
            "warm-up 5 ms");
}

TEST(ExpectNotSlower, IsAboutTheIntervalOfTheMedian) {
  auto const result = of({1.2, 1.4, 1.3, 1.5, 1.1, 1.6});  // the median 1.35, its interval [1.1, 1.6]
  auto const fine = profile::expect_not_slower(result, 1.0, 0.1);
  EXPECT_TRUE(fine) << fine.text << ": 1.1 is allowed, and could be it";
  auto const slow = profile::expect_not_slower(result, 1.0, 0.09);
  EXPECT_FALSE(slow);
  EXPECT_EQ(slow.text, "median 1.35 s [1.1 s, 1.6 s], 1.35 times the baseline of 1 s; allowed are 1.09 times: SLOWER");
  EXPECT_TRUE(profile::expect_not_slower(result, of({1.3, 1.3}), 0));
  EXPECT_FALSE(profile::expect_not_slower(result, of({1.0, 1.1}), 0));
}

TEST(ExpectNotSlower, OfFewRunsTheMedianDecides) {
  auto const result = of({1.0, 1.2, 1.1});
  EXPECT_TRUE(profile::expect_not_slower(result, 1.0, 0.11));
  auto const slow = profile::expect_not_slower(result, 1.0, 0.09);
  EXPECT_FALSE(slow.ok);
  EXPECT_EQ(slow.text, "median 1.1 s, 1.1 times the baseline of 1 s; allowed are 1.09 times: SLOWER");
  EXPECT_THROW(profile::expect_not_slower(result, 0.0, 0.1), parameter_error);
  EXPECT_THROW(profile::expect_not_slower(result, 1.0, -0.1), parameter_error);
}

}  // namespace
