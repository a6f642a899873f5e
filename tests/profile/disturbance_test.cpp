// Disturbed or not: made-up evidence, and what clean calls say of the time.
#include "mbirk/profile/disturbance.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "mbirk/profile/stopping.hpp"

namespace {

using namespace mbirk;
using profile::batch;
using profile::condition;
using profile::evidence;

TEST(Disturbance, IsTheShareOfTheTimeInWhichWorkCouldNotRun) {
  EXPECT_EQ(profile::judge({.wall = 0.1, .waited = 0.004}), condition::clean) << "4 % of the time";
  EXPECT_EQ(profile::judge({.wall = 0.1, .waited = 0.006}), condition::disturbed);
  EXPECT_EQ(profile::judge({.wall = 0.1, .waited = 0.004, .stolen = 0.01}), condition::disturbed);
  EXPECT_EQ(profile::judge({.wall = 0.1, .stolen = 0.01}), condition::disturbed);
  EXPECT_EQ(profile::judge({.wall = 0.1, .stolen = 0.0}), condition::unknown) << "others may run on this machine";
  EXPECT_EQ(profile::judge({.wall = 0.1, .waited = 0.004}, {.share = 0.03}), condition::disturbed);
}

TEST(Disturbance, WakingUpIsNone) {
  // 200 loops of 50 us that each wake a thread: 20 us until an idle processor runs it.
  EXPECT_EQ(profile::judge({.wall = 0.01, .waited = 0.004, .waits = 200}), condition::clean);
  // Another program takes the same time in two slices.
  EXPECT_EQ(profile::judge({.wall = 0.01, .waited = 0.004, .waits = 2}), condition::disturbed);
  EXPECT_DOUBLE_EQ(profile::lost_seconds({.wall = 0.01, .waited = 0.004, .waits = 2}), 0.0039);
}

TEST(Disturbance, FewerThreadsAreOne) {
  evidence e{.wall = 1, .waited = 0};
  EXPECT_EQ(judge(e), condition::clean);
  e.limited_loops = 1;
  EXPECT_EQ(judge(e), condition::disturbed);
  std::vector<batch> const batches{batch{{0.5, 0.5}, e}};
  EXPECT_NE(measured_time_of(batches).disturbed.find("loops had fewer threads after one had waited for a processor"),
            std::string::npos);
}

TEST(Disturbance, SwitchesTellWhereWaitingIsNotReported) {
  EXPECT_EQ(profile::judge({.wall = 0.004, .involuntary = 1}), condition::disturbed) << "in a call shorter than a tick";
  EXPECT_EQ(profile::judge({.wall = 0.1, .involuntary = 1}), condition::unknown)
      << "4 %, but a call may also have waited";
  EXPECT_EQ(profile::judge({.wall = 0.1}), condition::unknown);
  EXPECT_EQ(profile::judge({.wall = 0.01, .waited = 0.0, .involuntary = 9}), condition::clean)
      << "a system thread of microseconds";
}

TEST(LeastCalls, NineBelowFiveMilliseconds) {
  EXPECT_EQ(profile::min_calls(1e-6), 9u);
  EXPECT_EQ(profile::min_calls(5e-3), 9u);
  EXPECT_EQ(profile::min_calls(10e-3), 4u);
  EXPECT_EQ(profile::min_calls(45e-3), 1u);
  EXPECT_EQ(profile::min_calls(100), 1u);
}

evidence calm() { return {.wall = 0.01, .waited = 0.0, .stolen = 0.0}; }
evidence busy() { return {.wall = 0.01, .waited = 0.005, .waits = 2, .stolen = 0.0}; }

TEST(MeasuredTime, IsThatOfCleanCalls) {
  std::vector<batch> const batches{{{1, 2, 3, 4}, calm()}, {{60, 70, 80}, busy()}, {{5, 6, 7, 8}, calm()}};
  auto const m = profile::measured_time_of(batches);
  EXPECT_EQ(m.disturbed, "");
  EXPECT_EQ(m.median, 4.5);
  EXPECT_EQ(m.min, 1);
  EXPECT_EQ(m.max, 8);
  EXPECT_EQ(m.low_quartile, 2.75);
  EXPECT_EQ(m.high_quartile, 6.25);
  EXPECT_EQ(m.calls, 8u);
  EXPECT_EQ(m.clean, 8u);
  EXPECT_EQ(m.all, 11u);
  ASSERT_TRUE(m.range);
  EXPECT_EQ(m.range->low, 1) << "n = 8: 1 - 2 / 256";
  EXPECT_EQ(m.range->high, 8);
  EXPECT_THROW(profile::measured_time_of({}), parameter_error);
}

TEST(MeasuredTime, TooFewCleanCallsAreDisturbed) {
  std::vector<batch> batches{{{1e-3, 1e-3, 1e-3}, calm()}, {{5e-3, 6e-3, 7e-3, 8e-3, 9e-3, 9e-3}, busy()}};
  auto const m = profile::measured_time_of(batches);
  EXPECT_EQ(m.disturbed,
            "3 of 9 calls are clean, expected at least 9: threads waited for a processor for 24 % of the time");
  EXPECT_EQ(m.median, 6e-3) << "of all calls";
  EXPECT_EQ(m.calls, 9u);
  batches[1].seen = {.wall = 0.01, .waited = 0.0, .stolen = 0.02};
  EXPECT_NE(profile::measured_time_of(batches).disturbed.find("the hypervisor ran others for 100 % of the time"),
            std::string::npos);
  batches[1].seen = calm();
  EXPECT_EQ(profile::measured_time_of(batches).disturbed, "");
  // One call of a second is enough.
  EXPECT_EQ(profile::measured_time_of(std::vector<batch>{{{1.0}, {.wall = 1, .waited = 0.01}}}).disturbed, "");
  EXPECT_NE(profile::measured_time_of(std::vector<batch>{{{1.0}, {.wall = 1, .waited = 0.5}}}).disturbed, "");
}

TEST(MeasuredTime, WithoutEvidenceTheSpreadTells) {
  std::vector<batch> const narrow{{{10, 10, 10, 10.5, 11, 11, 11, 11, 11}, {.wall = 100}}};
  EXPECT_EQ(profile::measured_time_of(narrow).disturbed, "");
  std::vector<batch> wide{{{10, 10, 10, 12, 14, 16, 16, 16, 16}, {.wall = 100}}};
  EXPECT_EQ(profile::measured_time_of(wide).disturbed,
            "the interval of the median is 43 % of it wide, and the system does not say who ran");
  wide[0].seen.waited = 0;
  EXPECT_EQ(profile::measured_time_of(wide).disturbed, "") << "its interval says how uncertain it is";
}

using calls = std::vector<double>;

TEST(StoppingRule, NineCallsOfThreeBatchesThatAgreeAreEnough) {
  profile::stopping_rule rule;
  EXPECT_EQ(rule.owed(), 1u) << "nothing is known yet";
  rule.add(calls{1e-3, 1.001e-3, 1.002e-3, 1.003e-3}, true);
  EXPECT_EQ(rule.owed(), 5u);
  rule.add(calls{1.001e-3, 1.002e-3, 1.003e-3, 1.004e-3}, true);
  EXPECT_EQ(rule.owed(), 1u);
  EXPECT_FALSE(rule.enough());
  rule.add(calls{1e-3}, true);
  EXPECT_EQ(rule.owed(), 0u);
  EXPECT_TRUE(rule.enough());
  EXPECT_EQ(rule.fastest(), 1e-3);
  profile::stopping_rule two;
  for (int k = 0; k < 2; ++k) two.add(calls(9, 1e-3), true);
  EXPECT_FALSE(two.enough()) << "two batches";
}

TEST(StoppingRule, DisturbedCallsDoNotCount) {
  profile::stopping_rule rule;
  rule.add(calls(20, 5e-3), false);
  EXPECT_EQ(rule.owed(), 0u) << "but nothing more is forced";
  EXPECT_FALSE(rule.enough());
  for (int k = 0; k < 8; ++k) rule.add(calls{1e-3}, true);
  EXPECT_FALSE(rule.enough()) << "eight clean calls";
  rule.add(calls{1e-3}, true);
  EXPECT_TRUE(rule.enough());
}

TEST(StoppingRule, GoesOnUntilTheIntervalIsNarrow) {
  profile::stopping_rule rule;
  // Two values in turn, 20 % apart: the interval of the median contains both as long as it has two order statistics.
  for (int k = 0; k < 50; ++k) rule.add(calls{1e-3, 1.2e-3}, true);
  EXPECT_FALSE(rule.enough());
  rule.add(calls(100, 1e-3), true);
  EXPECT_TRUE(rule.enough()) << "many more of one of them decide";
}

TEST(StoppingRule, LongCallsOweOneAndNeedSixForAnInterval) {
  profile::stopping_rule rule;
  rule.add(calls{2}, true);
  EXPECT_EQ(rule.owed(), 0u);
  for (int k = 0; k < 4; ++k) rule.add(calls{2}, true);
  EXPECT_FALSE(rule.enough());
  rule.add(calls{2}, true);
  EXPECT_TRUE(rule.enough());
  profile::stopping_rule more([](double) -> std::size_t { return 7; });
  more.add(calls(6, 2), true);
  EXPECT_EQ(more.owed(), 1u);
}

}  // namespace
