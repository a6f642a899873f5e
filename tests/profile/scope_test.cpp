// Spans, memory and samples in user code: kinds, threads, bounds, and together with operations of the library.
#include "mbirk/profile/scope.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "instrument/operations.hpp"
#include "mbirk/instrument/tracing.hpp"

namespace {

using namespace mbirk;
using instrument::event_kind;
using instrument::trace_event;

std::vector<trace_event> of_kind(instrument::trace_buffer const& trace, event_kind kind) {
  std::vector<trace_event> list;
  for (auto const& e : trace.events())
    if (e.kind == kind) list.push_back(e);
  return list;
}

TEST(Scope, InsideAnotherItIsAStage) {
  instrument::trace_buffer trace(10), other(10);
  {
    profile::scope const outer(trace, "outer", {.items = 7, .bytes = 8, .flops = 9});
    profile::scope const elsewhere(other, "elsewhere");
    profile::scope const inner(trace, std::string("in") + "ner");
  }
  { profile::scope const after(trace, "after"); }
  auto const events = trace.events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_STREQ(events[0].name, "inner");
  EXPECT_EQ(events[0].kind, event_kind::stage);
  EXPECT_STREQ(events[1].name, "outer");
  EXPECT_EQ(events[1].kind, event_kind::operation);
  EXPECT_EQ(events[1].value, 7);
  EXPECT_EQ(events[1].bytes, 8);
  EXPECT_EQ(events[1].flops, 9);
  EXPECT_LE(events[1].begin, events[0].begin);
  EXPECT_LE(events[0].end, events[1].end);
  EXPECT_EQ(events[2].kind, event_kind::operation);
  ASSERT_EQ(other.events().size(), 1u);
  EXPECT_EQ(other.events()[0].kind, event_kind::operation) << "the outer one is of another trace";
}

TEST(Scope, WritesNowhere) {
  profile::scope const timed({}, "nothing");
  profile::scope const text({}, std::string("nothing"));
  profile::note_allocation({}, "nothing", 1), profile::note_release({}, "nothing", 1),
      profile::sample({}, "nothing", 1);
  instrument::trace_buffer trace(10), *now = nullptr;
  profile::sink const changing(&now);
  { profile::scope const off(changing, "off"); }
  now = &trace;
  { profile::scope const on(changing, "on"); }
  ASSERT_EQ(trace.events().size(), 1u);
  EXPECT_STREQ(trace.events()[0].name, "on");
}

TEST(Scope, ThreadsHaveTheirOwn) {
  constexpr int threads = 3, each = 50;
  instrument::trace_buffer trace(2 * threads * each + 1);
  {
    profile::scope const outer(trace, "outer");
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t)
      team.emplace_back([&] {
        for (int k = 0; k < each; ++k) {
          profile::scope const work(trace, "work");
          profile::scope const part(trace, "part");
        }
      });
    for (auto& t : team) t.join();
  }
  EXPECT_EQ(trace.dropped(), 0u);
  EXPECT_EQ(of_kind(trace, event_kind::stage).size(), std::size_t{threads * each})
      << "'part', but no 'work', which is not in a scope of its thread";
  EXPECT_EQ(trace.tracks().size(), std::size_t{threads + 1});
}

TEST(Scope, HoldsOperationsOfTheLibrary) {
  instrument::trace_buffer trace(1000);
  {
    profile::scope const mine(trace, "mine");
    mbirk::testing::run<mbirk::testing::op::back>(context{exec::host{1}, instrument::tracing{trace}},
                                                  mbirk::testing::square_cone(8));
  }
  auto const operations = of_kind(trace, event_kind::operation);
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_STREQ(operations[0].name, "cone_back_project");
  EXPECT_STREQ(operations[1].name, "mine");
  EXPECT_GE(operations[0].begin, operations[1].begin);
  EXPECT_LE(operations[0].end, operations[1].end);
  EXPECT_EQ(operations[0].track, operations[1].track);
}

TEST(ScopeMemory, IsOneSumOfMineAndTheLibrarys) {
  instrument::trace_buffer trace(10);
  profile::note_allocation(trace, "weights", 100);
  instrument::tracing(trace).allocated("temporary", 20);
  profile::note_release(trace, "weights", 100);
  auto const events = of_kind(trace, event_kind::memory);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].value, 100);
  EXPECT_EQ(events[1].value, 120);
  EXPECT_EQ(events[2].value, 20);
  EXPECT_EQ(events[2].bytes, -100);
}

TEST(ScopeSample, KeepsTheNumber) {
  instrument::trace_buffer trace(10);
  for (double const x : {3.0, -0.1, 1e-300, 1e300, 9007199254740991.0, std::numeric_limits<double>::infinity()}) {
    profile::sample(trace, "loss", x);
    EXPECT_EQ(profile::sample_value(trace.events().back()), x);
  }
  EXPECT_EQ(trace.events()[0].value, 3);
  EXPECT_EQ(trace.events()[0].detail, nullptr) << "an integer needs no text";
  EXPECT_STREQ(trace.events()[1].detail, "-0.1");
  profile::sample(trace, "loss", std::nan(""));
  EXPECT_TRUE(std::isnan(profile::sample_value(trace.events().back())));
}

TEST(ScopeSample, BeyondTheBoundIsCounted) {
  instrument::trace_buffer trace(2);
  for (int k = 0; k < 5; ++k) profile::sample(trace, "loss", 0.5 + k);
  EXPECT_EQ(trace.events().size(), 2u);
  EXPECT_EQ(trace.dropped(), 3u);
}

}  // namespace
