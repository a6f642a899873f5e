// Tracing: spans nest, memory returns to zero, losses are counted; and two policies together.
#include "mbirk/instrument/tracing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "instrument/operations.hpp"
#include "mbirk/exec/emulated.hpp"
#include "mbirk/instrument/both.hpp"
#include "mbirk/instrument/counting.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using instrument::event_kind;

template <class B> struct add_one {
  float const* from;
  float* to;
  index_t count;
  MBIRK_HD void operator()(index_t task) const noexcept {
    for (index_t k = task; k < count; k += 3) to[k] = from[k] + 1;
  }
};

static_assert(std::is_same_v<context<exec::host, instrument::tracing>::backend, exec::host::backend>,
              "tracing runs the kernels of none");

TEST(Tracing, StagesLieWithinTheirOperation) {
  instrument::trace_buffer buffer(1000);
  run<op::back>(context{exec::host{}, instrument::tracing{buffer}}, square_cone(16));
  EXPECT_EQ(buffer.dropped(), 0u);
  instrument::trace_event operation{};
  for (auto const& e : buffer.events())
    if (e.kind == event_kind::operation) operation = e;
  ASSERT_STREQ(operation.name, "cone_back_project");
  EXPECT_EQ(operation.value, 8 * static_cast<index_t>(square_cone(16).full_indices().size()) * 16);
  int stages = 0;
  for (auto const& e : buffer.events()) {
    EXPECT_LE(e.begin, e.end);
    EXPECT_GE(e.begin, 0);
    if (e.kind != event_kind::stage) continue;
    ++stages;
    EXPECT_GE(e.begin, operation.begin);
    EXPECT_LE(e.end, operation.end);
  }
  EXPECT_EQ(stages, 3);
}

TEST(Tracing, LiveBytesReturnToZero) {
  instrument::trace_buffer buffer(1000);
  run<op::forward>(context{exec::host{}, instrument::tracing{buffer}}, square_parallel(16));
  EXPECT_EQ(buffer.live_bytes.load(), 0);
  index_t most = 0;
  for (auto const& e : buffer.events())
    if (e.kind == event_kind::memory) most = std::max(most, e.value);
  EXPECT_GE(most, 8 * 16 * 16 * 4) << "at least the channel-major sinogram";
}

TEST(Tracing, KernelsLieInTheirStagesAndThreadsShareThem) {
  instrument::trace_buffer buffer(1000);
  run<op::back>(context{exec::host{2}, instrument::tracing{buffer}}, square_parallel(32));
  std::map<std::string, index_t> tasks, shared;
  auto const tracks = buffer.tracks();
  for (auto const& e : buffer.events()) {
    if (e.kind == event_kind::kernel) {
      tasks[e.name] += e.value;
      bool const inside = std::ranges::any_of(buffer.events(), [&](auto const& s) {
        return s.kind == event_kind::stage && s.begin <= e.begin && e.end <= s.end;
      });
      EXPECT_TRUE(inside) << e.name;
      EXPECT_EQ(tracks[static_cast<std::size_t>(e.track)].kind, instrument::track_kind::thread);
    }
    if (e.kind == event_kind::worker) {
      shared[e.name] += e.value;
      EXPECT_EQ(tracks[static_cast<std::size_t>(e.track)].kind, instrument::track_kind::worker);
    }
  }
  EXPECT_TRUE(tasks.contains("parallel_back"));
  EXPECT_EQ(tasks, shared) << "every task of every kernel was some thread's";
}

TEST(Tracing, SharesOfShortTasksEndWithTheirKernel) {
  instrument::trace_buffer buffer(1000);
  std::vector<float> from(60'000, 1.f), to(60'000);
  launch(context{exec::host{3}, instrument::tracing{buffer}}, 20'000,
         add_one<exec::host::backend>{from.data(), to.data(), 3});
  launch(context{exec::host{3}, instrument::tracing{buffer}}, 3,
         add_one<exec::host::backend>{from.data(), to.data(), 60'000});
  EXPECT_EQ(to[59'999], 2.f);
  std::vector<index_t> tasks;
  index_t shared = 0;
  for (auto const& e : buffer.events()) {  // workers first, then their kernel
    if (e.kind == event_kind::worker) shared += e.value;
    if (e.kind != event_kind::kernel) continue;
    EXPECT_EQ(std::exchange(shared, 0), e.value);
    tasks.push_back(e.value);
  }
  EXPECT_EQ(tasks, (std::vector<index_t>{20'000, 3}));
  for (auto const& e : buffer.events()) {
    if (e.kind != event_kind::worker) continue;
    auto const kernel = std::ranges::find_if(
        buffer.events(), [&](auto const& k) { return k.kind == event_kind::kernel && k.begin == e.begin; });
    ASSERT_NE(kernel, buffer.events().end());
    EXPECT_GE(e.end, e.begin);
    EXPECT_LE(e.end, kernel->end);
  }
}

TEST(Tracing, WhatADeviceDoesIsOnItsStream) {
  instrument::trace_buffer buffer(1000);
  exec::emulated const device;
  context ctx{device, instrument::tracing{buffer}};
  std::vector<float> const values(100, 2.f);
  {
    device_table const copy(ctx, values, "values");
    temporary<float, decltype(ctx)> result(ctx, "result", 100);
    clear(ctx, result);
    launch(ctx, 3, add_one<decltype(ctx)::backend>{copy.data(), result.data(), 100});
    host_copy const back(ctx, result);
    EXPECT_EQ(back[99], 3.f);
  }
  EXPECT_TRUE(std::ranges::none_of(buffer.events(), [](auto const& e) { return e.kind == event_kind::copy; }))
      << "not before finish()";
  buffer.finish();
  EXPECT_EQ(buffer.dropped(), 0u);
  std::map<std::string, index_t> bytes;
  std::int64_t before = 0;
  for (auto const& e : buffer.events()) {
    if (e.kind != event_kind::copy && e.kind != event_kind::kernel) continue;
    bytes[e.name] += e.bytes;
    EXPECT_EQ(buffer.tracks()[static_cast<std::size_t>(e.track)].kind, instrument::track_kind::stream);
    EXPECT_GE(e.begin, before) << "one after the other";
    before = e.end;
    auto const call = std::ranges::find_if(buffer.events(),
                                           [&](auto const& c) { return c.kind == event_kind::launch && c.id == e.id; });
    ASSERT_NE(call, buffer.events().end()) << e.name;
    EXPECT_LE(call->begin, e.begin + 1000) << "queued by its launch";
    if (e.kind != event_kind::kernel) continue;
    EXPECT_NE(std::string(e.detail).find("block:128,1,1"), std::string::npos) << e.detail;
  }
  EXPECT_EQ(bytes, (std::map<std::string, index_t>{
                       {"MemcpyHtoD", 400}, {"Memset", 400}, {"MemcpyDtoH", 400}, {"add_one", 0}}));
}

TEST(Tracing, AKernelIsNamedAfterItsType) {
  auto const lambda = [](index_t) {};
  EXPECT_STREQ((instrument::kernel_name<add_one<std::vector<float>>>()), "add_one");
  EXPECT_STREQ((instrument::kernel_name<std::vector<std::pair<int, long>>>()), "vector");
  EXPECT_STRNE(instrument::kernel_name<decltype(lambda)>(), "");
}

TEST(Tracing, TextLivesAsLongAsTheBuffer) {
  instrument::trace_buffer buffer(10);
  auto const* first = buffer.text(std::string("epoch ") + "1");
  for (int k = 0; k < 1000; ++k) buffer.text(std::to_string(k));
  EXPECT_STREQ(first, "epoch 1");
  EXPECT_EQ(buffer.text("epoch 1"), first);
}

TEST(Tracing, CountsWhatItDrops) {
  instrument::trace_buffer buffer(3);
  run<op::back>(context{exec::host{}, instrument::tracing{buffer}}, square_parallel(16));
  EXPECT_EQ(buffer.events().size(), 3u);
  EXPECT_GT(buffer.dropped(), 0u);
  buffer.clear();
  EXPECT_EQ(buffer.dropped(), 0u);
}

TEST(Both, CountsAndTracesTheSameRun) {
  instrument::trace_buffer buffer(1000);
  instrument::ledger together, alone;
  auto const s = odd_parallel(0.8);
  context const ctx{exec::host{}, instrument::both{instrument::tracing{buffer}, instrument::counting<>{together}}};
  auto const result = run<op::forward>(ctx, s);
  EXPECT_EQ(result, run<op::forward>(context{exec::host{}, instrument::counting<>{alone}}, s));
  EXPECT_EQ(together.last().operations, alone.last().operations);
  EXPECT_EQ(together.last().launches, alone.last().launches);
  EXPECT_GT(buffer.events().size(), 0u);
}

}  // namespace
