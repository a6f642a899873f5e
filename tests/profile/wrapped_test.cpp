// A wrapped function: its result, the classification of its calls, several threads.
#include "mbirk/profile/wrapped.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace mbirk;

TEST(Wrapped, IsCalledAsTheFunctionIs) {
  int x = 1;
  profile::wrapped reference([&](int y) -> int& { return x += y; }, "reference");
  reference(2) = 10;
  EXPECT_EQ(x, 10);
  profile::wrapped moved([](std::unique_ptr<int> p) { return p; }, "moved");
  EXPECT_EQ(*moved(std::make_unique<int>(4)), 4);
  profile::wrapped nothing([] {}, "nothing");
  nothing();
  EXPECT_EQ(nothing.calls().count(), 1);
  EXPECT_STREQ(nothing.name(), "nothing");
}

TEST(Wrapped, FirstCallsAreKeptApart) {
  instrument::trace_buffer trace(20);
  profile::wrapped step(
      [](int k) {
        if (k == 4) throw std::runtime_error("four");
      },
      "step", {.warm_up = 2, .into = trace, .info = {.items = 5}});
  for (int k = 0; k < 4; ++k) step(k);
  EXPECT_THROW(step(4), std::runtime_error);
  EXPECT_EQ(step.warm_up().count(), 2);
  EXPECT_EQ(step.calls().count(), 3) << "the call that threw took its time too";
  ASSERT_EQ(trace.events().size(), 5u);
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(trace.events()[k].name, std::string(k < 2 ? "step (warm-up)" : "step"));
    EXPECT_EQ(trace.events()[k].value, 5);
  }
  EXPECT_GE(step.calls().min(), 0);
  EXPECT_THROW(profile::wrapped([] {}, "x", {.warm_up = -1}), parameter_error);
}

TEST(Wrapped, ThreadsShareIt) {
  instrument::trace_buffer trace(1000);
  profile::wrapped step([] {}, "step", {.warm_up = 7, .into = trace});
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t)
    team.emplace_back([&] {
      for (int k = 0; k < 25; ++k) step();
    });
  for (auto& t : team) t.join();
  EXPECT_EQ(step.warm_up().count(), 7);
  EXPECT_EQ(step.calls().count(), 93);
  EXPECT_EQ(trace.events().size(), 100u);
}

}  // namespace
