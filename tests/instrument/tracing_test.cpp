// Tracing: spans that nest, memory that returns to zero, losses that are counted; and two policies at once.
#include "mbirk/instrument/tracing.hpp"

#include <gtest/gtest.h>

#include "instrument/operations.hpp"
#include "mbirk/instrument/both.hpp"
#include "mbirk/instrument/counting.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using instrument::event_kind;

static_assert(std::is_same_v<context<exec::host, instrument::tracing>::backend, exec::host::backend>, "tracing runs the kernels of none");

TEST(Tracing, StagesLieWithinTheirOperation) {
  instrument::trace_buffer buffer(1000);
  run(context{exec::host{}, instrument::tracing{buffer}}, square_cone(16), op::back);
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
  run(context{exec::host{}, instrument::tracing{buffer}}, square_parallel(16), op::forward);
  EXPECT_EQ(buffer.live_bytes.load(), 0);
  index_t most = 0;
  for (auto const& e : buffer.events())
    if (e.kind == event_kind::memory) most = std::max(most, e.value);
  EXPECT_GE(most, 8 * 16 * 16 * 4) << "at least the channel-major sinogram";
}

TEST(Tracing, CountsWhatItDrops) {
  instrument::trace_buffer buffer(3);
  run(context{exec::host{}, instrument::tracing{buffer}}, square_parallel(16), op::back);
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
  auto const result = run(ctx, s, op::forward);
  EXPECT_EQ(result, run(context{exec::host{}, instrument::counting<>{alone}}, s, op::forward));
  EXPECT_EQ(together.last().operations, alone.last().operations);
  EXPECT_EQ(together.last().launches, alone.last().launches);
  EXPECT_GT(buffer.events().size(), 0u);
}

}  // namespace
