// The table of components against sums by hand.
#include "mbirk/profile/components.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace {

using namespace mbirk;
using instrument::event_kind;
using strings = std::vector<std::string>;

void span(instrument::trace_buffer& trace, char const* name, event_kind kind, std::int64_t begin, std::int64_t end,
          std::int32_t track = 0) {
  trace.add({name, kind, begin, end, 0, track});
}

TEST(Components, ByPath) {
  instrument::trace_buffer trace(20);
  auto const thread = trace.track(instrument::track_kind::thread, 0),
             worker = trace.track(instrument::track_kind::worker, 0);
  // step [0, 100] has load [0, 20] and sum [30, 100], which has load [40, 50]; then step [100, 300] has sum [120, 220];
  // save [400, 500] is alone
  span(trace, "load", event_kind::stage, 0, 20, thread);
  span(trace, "load", event_kind::stage, 40, 50, thread);
  span(trace, "sum", event_kind::stage, 30, 100, thread);
  span(trace, "step", event_kind::operation, 0, 100, thread);
  span(trace, "sum", event_kind::kernel, 120, 220, thread);
  span(trace, "sum", event_kind::worker, 120, 190, worker);  // work of a kernel's threads is included in the kernel
  trace.add({"bytes", event_kind::memory, 130, 130, 5, thread});
  span(trace, "step", event_kind::operation, 100, 300, thread);
  span(trace, "save", event_kind::operation, 400, 500, thread);
  auto const rows = profile::component_table(trace).rows();
  ASSERT_EQ(rows.size(), 5u);
  struct expected { strings path; int calls; double total, share; };
  expected const list[] = {{{"step"}, 2, 300e-9, 0.75},
                           {{"step", "load"}, 1, 20e-9, 0.05},
                           {{"step", "sum"}, 2, 170e-9, 0.425},
                           {{"step", "sum", "load"}, 1, 10e-9, 0.025},
                           {{"save"}, 1, 100e-9, 0.25}};
  for (std::size_t k = 0; k < 5; ++k) {
    EXPECT_EQ(rows[k].path, list[k].path);
    EXPECT_EQ(rows[k].seconds.count(), list[k].calls) << k;
    EXPECT_NEAR(rows[k].seconds.total(), list[k].total, 1e-20) << k;
    EXPECT_NEAR(rows[k].share, list[k].share, 1e-12) << k;
  }
  EXPECT_NEAR(rows[0].seconds.mean(), 150e-9, 1e-20);
  EXPECT_NEAR(rows[0].seconds.standard_deviation(), 50e-9 * std::sqrt(2.0), 1e-20);  // 100 and 200
}

TEST(Components, ThreadsAreNotPartsOfEachOther) {
  instrument::trace_buffer trace(20);
  auto const a = trace.track(instrument::track_kind::thread, 0), b = trace.track(instrument::track_kind::thread, 1);
  span(trace, "load", event_kind::operation, 10, 20, b);
  span(trace, "step", event_kind::operation, 0, 100, a);
  span(trace, "step", event_kind::operation, 40, 60, b);
  auto const rows = profile::component_table(trace).rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].path, strings{"step"});
  EXPECT_EQ(rows[0].seconds.count(), 2);
  EXPECT_EQ(rows[1].path, strings{"load"});
}

TEST(Components, OfOnesOwn) {
  profile::component_table table;
  EXPECT_TRUE(table.rows().empty());
  table.add("solve", 3), table.add("assemble", 1), table.add("solve", 4);
  int calls = 0;
  table.time("timed", [&] { return ++calls; });
  table.time("timed", [&] { ++calls; });
  auto const rows = table.rows();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].path, strings{"solve"});
  EXPECT_EQ(rows[0].seconds.total(), 7);
  EXPECT_EQ(rows[2].seconds.count(), 2);
  EXPECT_EQ(calls, 2);
  EXPECT_NEAR(rows[0].share + rows[1].share + rows[2].share, 1, 1e-12);
}

TEST(Components, AsText) {
  profile::component_table table;
  table.add("solve", 3e-3), table.add("a long name of a component", 1e-3);
  EXPECT_EQ(table.text(),
            "component                     calls       mean  deviation      total   share\n"
            "solve                             1       3 ms       0 ns       3 ms   75.0%\n"
            "a long name of a component        1       1 ms       0 ns       1 ms   25.0%\n");
}

}  // namespace
