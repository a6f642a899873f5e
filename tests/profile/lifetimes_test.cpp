// The table of lifetimes: for a trace written by hand, for a part of it, with losses, and for a real operation.
#include "mbirk/profile/lifetimes.hpp"

#include <gtest/gtest.h>

#include "instrument/operations.hpp"
#include "mbirk/instrument/tracing.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using instrument::event_kind;
using strings = std::vector<std::string>;

profile::lifetime_row const* find(profile::lifetime_table const& table, strings const& stack) {
  for (auto const& row : table.rows)
    if (row.stack == stack) return &row;
  return nullptr;
}

/// project [0, 100] has the stages load [10, 30] and sum [40, 90]; the sinogram is never released.
struct Lifetimes : ::testing::Test {
  instrument::trace_buffer trace{20};
  index_t live_bytes = 0;
  void change(char const* name, std::int64_t t, index_t bytes) {
    trace.add({name, event_kind::memory, t, t, live_bytes += bytes, 0, bytes});
  }
  void SetUp() override {
    change("sinogram", 5, 1000);
    change("rows", 12, 300), change("rows", 20, 200), change("rows", 28, -200), change("rows", 29, -300);
    trace.add({"load", event_kind::stage, 10, 30});
    change("rows", 50, 300), change("tile", 60, 400), change("tile", 70, -400), change("rows", 80, -300);
    trace.add({"sum", event_kind::stage, 40, 90});
    trace.add({"project", event_kind::operation, 0, 100});
  }
};

TEST_F(Lifetimes, ArraysBySite) {
  auto const table = profile::lifetimes(profile::heap_history(trace), 0, 100);
  EXPECT_EQ(table.peak_bytes, 1700);
  EXPECT_EQ(table.peak_time, 60);
  EXPECT_EQ(table.dropped, 0u);
  ASSERT_EQ(table.rows.size(), 4u);
  EXPECT_EQ(table.rows[0].stack, (strings{"project", "sinogram"})) << "most at the peak first";
  EXPECT_EQ(table.rows[1].stack, (strings{"project", "sum", "tile"}));
  EXPECT_EQ(table.rows[3].stack, (strings{"project", "load", "rows"})) << "nothing at the peak";

  auto const* load = find(table, {"project", "load", "rows"});
  ASSERT_TRUE(load);
  EXPECT_EQ(load->arrays, 2);
  EXPECT_EQ(load->bytes, 500);
  EXPECT_EQ(load->largest, 300);
  EXPECT_EQ(load->first, 12);
  EXPECT_EQ(load->last, 29);
  EXPECT_EQ(load->longest, 17);
  EXPECT_EQ(load->lived, 17 + 8);
  EXPECT_EQ(load->at_peak, 0);
  EXPECT_EQ(load->unreleased, 0);

  auto const& sinogram = table.rows[0];
  EXPECT_EQ(sinogram.unreleased, 1);
  EXPECT_EQ(sinogram.last, 100) << "until the end of the table";
  EXPECT_EQ(sinogram.at_peak, 1000);
  double share = 0;
  for (auto const& row : table.rows) share += row.share;
  EXPECT_NEAR(share, 1, 4 * std::numeric_limits<double>::epsilon()) << "four shares of one rounding each";
}

TEST_F(Lifetimes, OfAPart) {
  auto const table = profile::lifetimes(profile::heap_history(trace), 21, 49);
  EXPECT_EQ(table.peak_bytes, 1300) << "at 28, the first change in it";
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(find(table, {"project", "load", "rows"})->first, 12) << "lives are whole";
  EXPECT_FALSE(find(table, {"project", "sum", "tile"}));
  EXPECT_TRUE(profile::lifetimes(profile::heap_history(trace), 0, 4).rows.empty());
}

TEST_F(Lifetimes, Text) {
  auto const text = profile::to_text(profile::lifetimes(profile::heap_history(trace), 0, 100));
  EXPECT_EQ(text.find("peak 1700 bytes at 0.000 of 0.000 ms\n"), 0u) << text;
  EXPECT_NE(text.find("project / sinogram (1 never released)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  58.8%"), std::string::npos) << "1000 of 1700\n" << text;
  EXPECT_EQ(text.find("INCOMPLETE"), std::string::npos) << text;
  for (int k = 0; k < 20; ++k) change("late", 100, 1);  // 12 of 20 events were there
  EXPECT_NE(profile::to_text(profile::lifetimes(profile::heap_history(trace), 0, 100))
                .find("INCOMPLETE: the trace dropped 12 events"),
            std::string::npos);
}

TEST(LifetimesOfAnOperation, AddUpToItsPeak) {
  instrument::trace_buffer trace(1000);
  run<op::back>(context{exec::host{1}, instrument::tracing{trace}}, square_cone(16));
  index_t most = 0, changes = 0;
  for (auto const& e : trace.events())
    if (e.kind == event_kind::memory) most = std::max(most, e.value), ++changes;
  ASSERT_GT(most, 0);
  auto const table = profile::lifetimes(trace);
  EXPECT_EQ(table.peak_bytes, most);
  index_t arrays = 0, at_peak = 0;
  for (auto const& row : table.rows) {
    EXPECT_EQ(row.stack.front(), "cone_back_project");
    EXPECT_EQ(row.unreleased, 0) << row.stack.back();
    EXPECT_GE(row.longest * row.arrays, row.lived);
    arrays += row.arrays, at_peak += row.at_peak;
  }
  EXPECT_EQ(at_peak, most);
  EXPECT_EQ(2 * arrays, changes);
}

}  // namespace
