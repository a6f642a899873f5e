// The run-time policy reports the events that the selected policy would report itself.
#include "mbirk/instrument/any.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "instrument/operations.hpp"
#include "mbirk/exec/emulated.hpp"
#include "mbirk/instrument/both.hpp"
#include "mbirk/instrument/live.hpp"
#include "mbirk/instrument/tracing.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using instrument::event_kind;

static_assert(std::is_same_v<context<exec::host, instrument::any>::backend, exec::host::backend>,
              "the kernels are those of none");

/// Kinds and names of events in the order in which they ended, without the shares of threads, which depend on
/// scheduling.
std::vector<std::pair<event_kind, std::string>> events_of(instrument::trace_buffer& buffer) {
  buffer.finish();
  std::vector<std::pair<event_kind, std::string>> all;
  for (auto const& e : buffer.events())
    if (e.kind != event_kind::worker) all.emplace_back(e.kind, e.name);
  return all;
}

TEST(Any, ObservesNothingByDefault) {
  instrument::any const nothing;
  auto guard = nothing.kernel(exec::host{1}, {.name = "kernel"});
  EXPECT_FALSE(guard.observes_tasks());
  guard.task_done(0);
  [[maybe_unused]] auto const scope = nothing.scope({"operation"});
  nothing.allocated("array", 4);
  nothing.released("array", 4);
  run<op::forward>(context{exec::host{}, nothing}, square_parallel(16));
}

TEST(Any, ReportsTheEventsOfThePolicyItself) {
  exec::host const host{1};
  instrument::trace_buffer direct(1000), forwarded(1000);
  run<op::back>(context{host, instrument::tracing{direct}}, square_cone(16));
  run<op::back>(context{host, instrument::any(host, instrument::tracing{forwarded})}, square_cone(16));
  auto const expected = events_of(direct);
  EXPECT_GT(expected.size(), 8u);
  EXPECT_EQ(events_of(forwarded), expected);
}

TEST(Any, CountsTheTasksOfAllThreads) {
  exec::host const host{3};
  instrument::trace_buffer buffer(1000);
  run<op::forward>(context{host, instrument::any(host, instrument::tracing{buffer})}, square_parallel(16));
  index_t tasks = 0, shares = 0;
  for (auto const& e : buffer.events()) {
    if (e.kind == event_kind::kernel) tasks += e.value;
    if (e.kind == event_kind::worker) shares += e.value;
  }
  EXPECT_GT(tasks, 0);
  EXPECT_EQ(shares, tasks);
}

TEST(Any, CopiesReportToTheSamePlace) {
  exec::host const host{1};
  instrument::trace_buffer buffer(100);
  instrument::any first(host, instrument::tracing{buffer});
  instrument::any const second = first;
  first = instrument::any();
  { [[maybe_unused]] auto const scope = second.scope({"operation"}); }
  { [[maybe_unused]] auto const scope = first.scope({"unobserved"}); }
  ASSERT_EQ(buffer.events().size(), 1u);
  EXPECT_STREQ(buffer.events()[0].name, "operation");
}

TEST(Any, HoldsTwoPoliciesAtOnce) {
  exec::host const host{1};
  instrument::trace_buffer buffer(1000);
  instrument::live_sites sites;
  instrument::any const observe(host, instrument::both{instrument::tracing{buffer}, instrument::live{sites}});
  observe.allocated("array", 64);
  EXPECT_EQ(buffer.live_bytes.load(), 64);
  observe.released("array", 64);
  EXPECT_EQ(buffer.live_bytes.load(), 0);
  auto guard = observe.kernel(host, {.name = "kernel", .tasks = 1});
  EXPECT_TRUE(guard.observes_tasks());
  guard.task_done(0);
}

TEST(Any, ReportsKernelsAndCopiesOfItsDeviceAndOfTheHostBesideIt) {
  exec::emulated const device;
  instrument::trace_buffer buffer(5000);
  context const ctx{device, instrument::any(device, instrument::tracing{buffer})};
  std::vector<float> const values(100, 1.0f);
  {
    temporary<float, decltype(ctx)> array(ctx, "array", 100);
    detail::upload(ctx, array.data(), values.data(), array.bytes());
  }
  { [[maybe_unused]] auto const guard = ctx.instr.kernel(exec::host{1}, {.name = "on the host", .tasks = 1}); }
  auto const events = events_of(buffer);
  auto const count = [&](event_kind kind, char const* name) {
    return std::count(events.begin(), events.end(), std::pair(kind, std::string(name)));
  };
  EXPECT_EQ(count(event_kind::copy, "MemcpyHtoD"), 1);
  EXPECT_EQ(count(event_kind::kernel, "on the host"), 1);
}

TEST(Any, DoesNotReportLaunchesOnOtherPolicies) {
  exec::host const host{1};
  instrument::trace_buffer buffer(100);
  instrument::any const observe(host, instrument::tracing{buffer});
  { [[maybe_unused]] auto const guard = observe.kernel(exec::emulated(), {.name = "elsewhere"}); }
  EXPECT_TRUE(events_of(buffer).empty());
}

/// A policy that logs the begin and end of its guards.
struct noting {
  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "noting";
  static constexpr instrumentation_traits traits{};
  template <class Native> using backend = Native;
  std::string* text;
  char mark;
  struct guard {
    std::string* text;
    char mark;
    guard(std::string* t, char m) : text(t), mark(m) { *text += mark; }
    ~guard() { *text += static_cast<char>(mark - 'a' + 'A'); }
    guard(guard const&) = delete;
    guard& operator=(guard const&) = delete;
  };
  [[nodiscard]] guard scope(op_info) const { return {text, mark}; }
  [[nodiscard]] guard stage(char const*) const { return {text, mark}; }
  void allocated(char const*, index_t) const { *text += '+'; }
  void released(char const*, index_t) const { *text += '-'; }
};
static_assert(instrumentation_policy<noting>);

TEST(Both, EndsTheGuardsInReverseOrder) {
  std::string text;
  instrument::both const two{noting{&text, 'a'}, noting{&text, 'b'}};
  { [[maybe_unused]] auto const scope = two.scope({"operation"}); }
  EXPECT_EQ(text, "abBA");
  text.clear();
  two.allocated("array", 1);
  EXPECT_EQ(text, "++");
}

TEST(Any, EndsTheGuardsOfNestedScopesInReverseOrder) {
  std::string text;
  exec::host const host{1};
  instrument::any const observe(host, instrument::both{noting{&text, 'a'}, noting{&text, 'b'}});
  {
    [[maybe_unused]] auto const outer = observe.scope({"operation"});
    [[maybe_unused]] auto const inner = observe.stage("stage");
  }
  EXPECT_EQ(text, "ababBABA");
}

}  // namespace
