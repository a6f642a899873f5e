// Many steps in one launch against one launch per step: numbers by hand, and the calls.
#include "mbirk/profile/loop.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using namespace mbirk;

TEST(LoopResult, ByHand) {
  std::vector<double> const loop{10e-6, 12e-6, 11e-6, 10e-6, 13e-6, 10e-6},
      steps{30e-6, 34e-6, 35e-6, 32e-6, 31e-6, 40e-6};
  auto const r = profile::loop_result_of(10, loop, steps);  // differences per step: 2, 2.2, 2.4, 2.2, 1.8, 3 us
  EXPECT_NEAR(r.dispatch, 2.2e-6, 1e-15);
  EXPECT_NEAR(r.dispatch_range.low, 1.8e-6, 1e-15);
  EXPECT_NEAR(r.dispatch_range.high, 3e-6, 1e-15);
  EXPECT_NEAR(r.loop.p50, 10.5e-6, 1e-15);
  EXPECT_NEAR(r.dispatch_share, 22.0 / 33, 1e-9);
  EXPECT_EQ(r.text(),
            "10 steps: 10.5 us in one launch, 33 us by a launch a step; a dispatch costs 2.2 us [1.8 us, 3 us], 67 % "
            "of a step");
  EXPECT_THROW(profile::loop_result_of(0, loop, steps), parameter_error);
  EXPECT_THROW(profile::loop_result_of(1, {}, {}), parameter_error);
}

TEST(LoopAgainstSteps, TakesTurnsInBeingFirst) {
  std::string order;
  auto const r = profile::loop_against_steps([&](std::int64_t n) { order += 'L' + std::to_string(n) + ' '; },
                                             [&] { order += 's'; }, 3,
                                             {.warm_up = 1, .rounds = 2, .prepare = [&] { order += '.'; }});
  EXPECT_EQ(order, ".sss.L3 .L3 .sss.sss.L3 ");
  EXPECT_EQ(r.steps, 3);
  EXPECT_EQ(r.loop.count, 2);
  EXPECT_THROW(profile::loop_against_steps([](std::int64_t) {}, [] {}, 0), parameter_error);
  EXPECT_THROW(profile::loop_against_steps([](std::int64_t) {}, [] {}, 1, {.warm_up = -1}), parameter_error);
}

}  // namespace
