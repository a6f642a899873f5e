// Heap snapshots of a trace: live memory, its origin, and its peak; and that of a real operation.
#include "mbirk/profile/heap.hpp"

#include <gtest/gtest.h>

#include "instrument/operations.hpp"
#include "mbirk/instrument/tracing.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using instrument::event_kind;
using strings = std::vector<std::string>;

profile::heap_site const* find(profile::heap_snapshot const& heap, strings const& stack) {
  for (auto const& site : heap.sites)
    if (site.stack == stack) return &site;
  return nullptr;
}

/// project [0, 100] has the stages load [10, 30] and sum [40, 90].
struct Heap : ::testing::Test {
  instrument::trace_buffer trace{100};
  void SetUp() override {
    auto const span = [&](char const* name, event_kind kind, std::int64_t begin, std::int64_t end) {
      trace.add({name, kind, begin, end, 0});
    };
    auto const live = [&](char const* name, std::int64_t t, index_t bytes) {
      trace.add({name, event_kind::memory, t, t, bytes});
    };
    live("sinogram", 5, 1000);
    live("rows", 12, 1300), live("rows", 20, 1600);
    live("rows", 28, 1300), live("rows", 29, 1000);
    span("load", event_kind::stage, 10, 30);
    live("rows", 50, 1300), live("tile", 60, 1350), live("tile", 70, 1300), live("rows", 80, 1000);
    span("sum", event_kind::stage, 40, 90);
    live("sinogram", 95, 0);
    span("project", event_kind::operation, 0, 100);
  }
};

TEST_F(Heap, WhatIsLive) {
  auto const heap = profile::heap_history(trace).at(25);
  EXPECT_EQ(heap.live_bytes, 1600);
  ASSERT_EQ(heap.sites.size(), 2u);
  auto const* rows = find(heap, {"project", "load", "rows"});
  ASSERT_TRUE(rows);
  EXPECT_EQ(rows->live_arrays, 2);
  EXPECT_EQ(rows->live_bytes, 600);
  auto const* sinogram = find(heap, {"project", "sinogram"});
  ASSERT_TRUE(sinogram);
  EXPECT_EQ(sinogram->live_bytes, 1000);
}

TEST_F(Heap, TheSameArrayElsewhereIsAnotherSite) {
  auto const heap = profile::heap_history(trace).at(65);
  EXPECT_EQ(heap.live_bytes, 1350);
  auto const *before = find(heap, {"project", "load", "rows"}), *now = find(heap, {"project", "sum", "rows"});
  ASSERT_TRUE(before && now);
  EXPECT_EQ(before->live_bytes, 0);
  EXPECT_EQ(before->all_arrays, 2);
  EXPECT_EQ(before->all_bytes, 600);
  EXPECT_EQ(now->live_bytes, 300);
}

TEST_F(Heap, NothingIsLeft) {
  auto const heap = profile::heap_history(trace).at(100);
  EXPECT_EQ(heap.live_bytes, 0);
  EXPECT_EQ(heap.sites.size(), 4u);
  for (auto const& site : heap.sites) EXPECT_EQ(site.live_arrays, 0) << site.stack.back();
  EXPECT_TRUE(profile::heap_history(trace).at(-1).sites.empty());
}

TEST_F(Heap, ThePeak) {
  EXPECT_EQ(profile::heap_history(trace).peak(0, 100).live_bytes, 1600);
  EXPECT_EQ(profile::heap_history(trace).peak(0, 100).time, 20);
  EXPECT_EQ(profile::heap_history(trace).peak(40, 100).live_bytes, 1350) << "of a part";
  EXPECT_EQ(profile::heap_history(trace).peak(31, 39).live_bytes, 1000) << "nothing changed: what was there";
}

TEST(HeapOfAnOperation, IsItsTemporaries) {
  instrument::trace_buffer trace(1000);
  run<op::back>(context{exec::host{1}, instrument::tracing{trace}}, square_cone(16));
  index_t most = 0;
  for (auto const& e : trace.events())
    if (e.kind == event_kind::memory) most = std::max(most, e.value);
  ASSERT_GT(most, 0);
  auto const heap = profile::heap_history(trace).peak(0, trace.now());
  EXPECT_EQ(heap.live_bytes, most);
  index_t sum = 0;
  for (auto const& site : heap.sites) {
    sum += site.live_bytes;
    EXPECT_EQ(site.stack.front(), "cone_back_project");
  }
  EXPECT_EQ(sum, most);
}

TEST_F(Heap, IsAProfile) {
  auto const bytes = profile::to_pprof(profile::heap_history(trace).at(65), 1'700'000'000'000'000'000);
  for (char const* text : {"inuse_space", "alloc_objects", "project", "tile", "temporary", "host"})
    EXPECT_NE(bytes.find(text), std::string::npos) << text;
  EXPECT_EQ(bytes.find('\n'), 0u) << "the first field is a sample type";
}

}  // namespace
