// Descriptions of programs: from counts and from traces, and errors.
#include "mbirk/profile/program.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "instrument/operations.hpp"
#include "mbirk/instrument/both.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/instrument/tracing.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using instrument::event_kind;
using profile::description_error;

TEST(Steps, PathsAreThoseOfCounting) {
  instrument::trace_buffer trace(10000);
  instrument::ledger counts;
  run<op::back>(context{exec::host{}, instrument::both{instrument::tracing{trace}, instrument::counting<>{counts}}},
                odd_parallel(0.8));
  auto const steps = profile::steps_of(trace);
  ASSERT_EQ(steps.size(), 1u);
  std::vector<std::pair<std::string, std::string>> traced, counted;
  for (auto const& k : steps[0].kernels)
    if (k.event.kind == event_kind::kernel) traced.emplace_back(k.stage, k.name);
  for (auto const& k : counts.last().kernels) counted.emplace_back(k.stage, k.name);
  EXPECT_EQ(traced, counted) << "each is launched once";
  EXPECT_FALSE(counted.empty());
}

TEST(Steps, OutermostOperationsAndTheirParts) {
  instrument::trace_buffer trace(100);
  auto const add = [&](char const* name, event_kind kind, std::int64_t begin, std::int64_t end) {
    trace.add({name, kind, begin, end, 0, trace.track()});
  };
  add("load", event_kind::stage, 10, 20);  // policies write spans when they end
  add("blur", event_kind::kernel, 22, 25);
  add("inner", event_kind::operation, 20, 30);
  add("step", event_kind::operation, 10, 40);
  add("alone", event_kind::stage, 50, 60);
  add("step", event_kind::operation, 70, 70);
  auto const steps = profile::steps_of(trace);
  ASSERT_EQ(steps.size(), 2u) << "a stage is no step";
  ASSERT_EQ(steps[0].kernels.size(), 2u);
  EXPECT_EQ(steps[0].kernels[0].name, "load") << "a span without parts is one";
  EXPECT_EQ(steps[0].kernels[0].stage, "");
  EXPECT_EQ(steps[0].kernels[1].name, "blur");
  EXPECT_EQ(steps[0].kernels[1].stage, "inner");
  ASSERT_EQ(steps[1].kernels.size(), 1u);
  EXPECT_EQ(steps[1].kernels[0].name, "step");
}

TEST(Program, HasTheCountsOfItsRecord) {
  instrument::ledger counts;
  run<op::back>(context{exec::host{}, instrument::counting<>{counts}}, odd_parallel(0.8));
  auto const& record = counts.last();
  auto const p = profile::program_of(record, "back_v16");
  EXPECT_NO_THROW(validate(p));
  std::uint64_t flops = 0, bytes = 0;
  for (auto const& k : p.kernels) {
    flops += k.flops, bytes += k.bytes_read + k.bytes_written;
    EXPECT_TRUE(k.unique_read && k.unique_written) << k.name;
    EXPECT_FALSE(k.reads.empty() && k.writes.empty()) << k.name;
  }
  EXPECT_EQ(flops, record.operations.flops());
  EXPECT_EQ(bytes, bytes_accessed(record.arrays));
  std::size_t outputs = 0;
  for (auto const& b : p.buffers) outputs += b.role == array_role::output ? 1 : 0;
  EXPECT_EQ(outputs, 1u);
}

TEST(Program, TemporariesComeAndGoAsTraced) {
  instrument::trace_buffer trace(10000);
  run<op::back>(context{exec::host{}, instrument::tracing{trace}}, odd_parallel(0.8));
  auto const steps = profile::steps_of(trace);
  auto const p = profile::program_of(steps.at(0), "back");
  EXPECT_NO_THROW(validate(p));
  index_t live = 0, most = 0, traced = 0;
  for (auto const& c : p.heap) {
    live += (c.allocate ? 1 : -1) * static_cast<index_t>(p.buffers[c.buffer].bytes);
    most = std::max(most, live);
  }
  for (auto const& e : trace.events())
    if (e.kind == event_kind::memory) traced = std::max(traced, e.value);
  EXPECT_EQ(most, traced);
  EXPECT_EQ(live, 0);
  EXPECT_GT(most, 0);
}

TEST(Program, WhatTheAuthorSaysIsTaken) {
  instrument::trace_buffer trace(10);
  trace.add({"load", event_kind::stage, 1, 2, 0, trace.track(), 100});
  trace.add({"load", event_kind::stage, 3, 4, 0, trace.track(), 100});
  trace.add({"step", event_kind::operation, 0, 5, 0, trace.track()});
  auto const p = profile::program_of(profile::steps_of(trace).at(0), "p");
  ASSERT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(p.kernels[0].launches, 2u);
  EXPECT_EQ(p.kernels[0].bytes_read, 200u);
}

TEST(Program, MemoryTrafficIsWhatNoCacheHolds) {
  profile::program_kernel k{
      .name = "k", .bytes_read = 900, .bytes_written = 100, .unique_read = 300, .unique_written = 100, .visits = 2};
  using both = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(memory_traffic(k, 0), both(300, 100));
  EXPECT_EQ(memory_traffic(k, 100), both(150, 50)) << "100 of each visit stay";
  EXPECT_EQ(memory_traffic(k, 200), both(0, 0));
  k.unique_read.reset(), k.unique_written.reset();
  EXPECT_EQ(memory_traffic(k, 0), both(900, 100));
}

profile::program good() {
  return {.name = "p",
          .operation = "op",
          .kernels = {{.name = "k", .reads = {0}, .writes = {1}}},
          .buffers = {{"in", array_role::argument, 8, {2}, "f32"}, {"t", array_role::temporary, 4}},
          .heap = {{1, true, 0}, {1, false, 0}}};
}

TEST(Validate, RefusesWhatAViewerCannotTake) {
  EXPECT_NO_THROW(validate(good()));
  auto const refused = [](char const* why, auto const& spoil) {
    auto p = good();
    spoil(p);
    try {
      validate(p);
      ADD_FAILURE() << "accepted: " << why;
    } catch (description_error const& e) {
      EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
    }
  };
  refused("file names", [](auto& p) { p.name = "a/b"; });
  refused("file names", [](auto& p) { p.name = ""; });
  refused("has no name", [](auto& p) { p.kernels[0].name = ""; });
  refused("no launches", [](auto& p) { p.kernels[0].launches = 0; });
  refused("uses buffer 2 of 2", [](auto& p) { p.kernels[0].reads = {2}; });
  refused("more unique bytes", [](auto& p) { p.kernels[0].unique_read = 1; });
  refused("another number", [](auto& p) { p.buffers[0].shape = {3}; });
  refused("elements 'half'", [](auto& p) { p.buffers[0].type = "half"; });
  refused("not a temporary", [](auto& p) { p.heap[0].buffer = 0; });
  refused("kernel that is not there", [](auto& p) { p.heap[0].kernel = 1; });
  refused("released more often", [](auto& p) { p.heap.push_back({1, false, 0}); });
  std::vector const twice{good(), good()};
  EXPECT_THROW(validate(twice), description_error);
  EXPECT_THROW(validate(profile::machine_specs{.threads = 0}), description_error);
  EXPECT_THROW(validate(profile::machine_specs{.peak_tflops = std::nan("")}), description_error);
}

TEST(Program, NamesAreDifferent) {
  auto p = good();
  p.kernels.push_back(p.kernels[0]);
  p.kernels.push_back({.name = "a::b<c>"});
  p.buffers[0].name = "k";
  auto const names = names_of(p);
  EXPECT_EQ(names.kernels, (std::vector<std::string>{"k", "k.2", "a__b_c_"}));
  EXPECT_EQ(names.buffers, (std::vector<std::string>{"k.3", "t"}));
}

}  // namespace
