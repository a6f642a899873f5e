// XSpaces, read back by field number (tsl/profiler/protobuf/xplane.proto): rules that XProf depends on; if they are
// broken, it silently shows zeros.
#include "mbirk/profile/xplane.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <variant>

#include "emulated_instances.hpp"
#include "instrument/operations.hpp"
#include "mbirk/exec/emulated.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "profile/wire_reader.hpp"

namespace {

using namespace mbirk;
using mbirk::testing::wire_message;
using instrument::event_kind;

/// A value with the number of its field: 2 double, 3 uint64, 4 int64, 5 text, 6 bytes, 7 text stored once.
struct read_stat {
  int field = 0;
  std::int64_t number = 0;
  double real = 0;
  std::string text;
};
struct read_event {
  std::string name, display_name;
  std::int64_t begin, duration;
  std::map<std::string, read_stat> stats, shared;  ///< stats of the event; shared: of its metadata
};
struct read_plane {
  std::map<std::string, read_stat> stats;
  std::map<std::string, std::vector<read_event>> lines;
  std::map<std::string, std::map<std::string, read_stat>> metadata;  ///< stats by the name of the events
  std::map<std::string, std::int64_t> line_ids;
};

struct read_space {
  std::map<std::string, read_plane> planes;
  std::vector<std::string> warnings, hosts;

  explicit read_space(std::string const& bytes) {
    wire_message const space(bytes);
    warnings = space.texts(3), hosts = space.texts(4);
    std::set<std::int64_t> ids;
    for (auto const& p : space.messages(1)) {
      EXPECT_TRUE(ids.insert(p.number(1)).second);
      planes[p.text(2)] = read(p);
    }
  }

 private:
  static std::map<std::string, read_stat> stats_of(wire_message const& m, int field,
                                                   std::map<std::int64_t, std::string> const& names) {
    std::map<std::string, read_stat> stats;
    for (auto const& s : m.messages(field)) {
      read_stat r;
      for (int const f : {2, 3, 4, 5, 6, 7}) {
        if (!s.has(f)) continue;
        EXPECT_EQ(r.field, 0) << "one value";
        r.field = f;
      }
      r.number = s.number(r.field), r.text = r.field == 7 ? names.at(s.number(7)) : r.field >= 5 ? s.text(r.field) : "";
      if (r.field == 2) r.real = s.real(2);
      EXPECT_TRUE(stats.emplace(names.at(s.number(1)), r).second);
    }
    return stats;
  }
  static read_plane read(wire_message const& p) {
    read_plane plane;
    std::map<std::int64_t, std::string> names;
    for (auto const& entry : p.messages(5)) {
      names[entry.number(1)] = entry.message(2).text(2);
      EXPECT_EQ(entry.number(1), entry.message(2).number(1));
    }
    struct shared { std::string name, display_name; std::map<std::string, read_stat> stats; };
    std::map<std::int64_t, shared> metadata;
    for (auto const& entry : p.messages(4)) {
      auto const m = entry.message(2);
      metadata[entry.number(1)] = {m.text(2), m.text(4), stats_of(m, 5, names)};
      plane.metadata[m.text(2)] = metadata[entry.number(1)].stats;
    }
    plane.stats = stats_of(p, 6, names);
    for (auto const& l : p.messages(3)) {
      auto& line = plane.lines[l.text(2)];
      plane.line_ids[l.text(2)] = l.number(1);
      EXPECT_LT(l.number(1), 0xdeadbeef);
      EXPECT_EQ(l.number(3), 0) << "times are relative";
      for (auto const& e : l.messages(4)) {
        auto const& m = metadata.at(e.number(1));
        EXPECT_TRUE(e.has(2)) << "a member of a oneof is written even if it is 0";
        line.push_back({m.name, m.display_name, e.number(2), e.number(3), stats_of(e, 4, names), m.stats});
      }
    }
    return plane;
  }
};

void expect_nested(std::vector<read_event> const& line) {
  std::vector<std::int64_t> ends;
  std::int64_t before = 0;
  for (auto const& e : line) {
    EXPECT_LE(before, e.begin) << e.name;
    before = e.begin;
    while (!ends.empty() && ends.back() <= e.begin) ends.pop_back();
    if (!ends.empty()) {
      EXPECT_LE(e.begin + e.duration, ends.back()) << e.name;
    }
    if (e.duration > 0) ends.push_back(e.begin + e.duration);
  }
}

/// A traced and a counted run of one operation.
template <class Exec> struct recorded {
  instrument::trace_buffer trace{10000};
  instrument::ledger counts;
  std::vector<profile::program> programs;
  explicit recorded(Exec const& exec) {
    mbirk::testing::run<mbirk::testing::op::back>(context{exec, instrument::tracing{trace}},
                                                  mbirk::testing::odd_parallel(0.8));
    trace.finish();
    mbirk::testing::run<mbirk::testing::op::back>(context{exec, instrument::counting<>{counts}},
                                                  mbirk::testing::odd_parallel(0.8));
    programs.push_back(profile::program_of(counts.last(), "back_v19"));
  }
};

profile::machine_specs const desk{.name = "desk", .threads = 2, .peak_tflops = 0.5, .memory_gbs = 20, .cache_gbs = 400};

TEST(XSpace, HostRun) {
  recorded const r(exec::host{2});
  read_space const space(profile::to_xspace(r.trace, r.programs, desk, {.host = "box", .unix_nanoseconds = 1000}));
  EXPECT_EQ(space.hosts, std::vector<std::string>{"box"});
  EXPECT_TRUE(space.warnings.empty());
  EXPECT_FALSE(space.planes.contains("/device:GPU:0")) << "never both kinds";
  auto const& device = space.planes.at("/device:TPU:0");
  EXPECT_EQ(device.stats.at("device_type_string").text, "desk (2 threads)");
  EXPECT_EQ(device.stats.at("peak_teraflops_per_second").real, 0.5);
  EXPECT_EQ(device.stats.at("peak_hbm_bw_gigabytes_per_second").real, 20);
  EXPECT_EQ(device.stats.at("peak_vmem_rd_bw_gigabytes_per_second").real, 400);

  auto const &steps = device.lines.at("Steps"), &modules = device.lines.at("XLA Modules"),
             &ops = device.lines.at("XLA Ops");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].stats.at("_ct").field, 4);
  EXPECT_EQ(modules.at(0).name, "back_v19(1)");
  expect_nested(ops);
  std::uint64_t flops = 0, bytes = 0, main_memory = 0, cache = 0;
  std::set<std::int64_t> symbols;
  for (auto const& op : ops) {
    EXPECT_GT(op.begin, steps[0].begin) << "or it belongs to the step before";
    EXPECT_LE(op.begin + op.duration, steps[0].begin + steps[0].duration);
    for (auto const* name : {"program_id", "symbol_id", "flops", "model_flops", "bytes_accessed"})
      EXPECT_EQ(op.shared.at(name).field, 3) << name;
    EXPECT_NE(op.shared.at("hlo_category").text, "custom-call");
    EXPECT_TRUE(symbols.insert(op.shared.at("symbol_id").number).second);
    flops += static_cast<std::uint64_t>(op.shared.at("flops").number),
        bytes += static_cast<std::uint64_t>(op.shared.at("bytes_accessed").number);
    wire_message const breakdown(op.shared.at("memory_access_breakdown").text);
    for (auto const& part : breakdown.messages(1))
      (part.number(2) == 1 ? main_memory : cache) += static_cast<std::uint64_t>(part.number(3));
  }
  EXPECT_EQ(flops, r.counts.last().operations.flops()) << "each kernel runs once";
  EXPECT_EQ(bytes, bytes_accessed(r.counts.last().arrays));
  EXPECT_EQ(cache, bytes);
  EXPECT_GT(main_memory, 0u);
  EXPECT_LE(main_memory, bytes);

  auto const& host = space.planes.at("/host:CPU");
  std::size_t tied = 0;
  for (auto const& [name, line] : host.lines) {
    expect_nested(line);
    for (auto const& e : line) {
      if (!e.stats.contains("_r")) continue;
      ++tied;
      EXPECT_EQ(e.stats.at("_p").number, steps[0].stats.at("_c").number);
      EXPECT_EQ(e.stats.at("step_num").field, 4);
    }
  }
  EXPECT_EQ(tied, 1u);
  EXPECT_TRUE(host.lines.contains("thread 0") && host.lines.contains("worker 0"));

  auto const program = space.planes.at("/host:metadata").metadata.at("back_v19(1)");
  EXPECT_EQ(program.at("program_id").field, 3);
  EXPECT_EQ(program.at("Hlo Proto").field, 6);
  wire_message const hlo(program.at("Hlo Proto").text);
  std::set<std::string> instructions;
  for (auto const& i : hlo.message(1).message(3).messages(2)) instructions.insert(i.text(1));
  for (auto const& op : ops) EXPECT_TRUE(instructions.contains(op.display_name)) << op.display_name;
  EXPECT_EQ(space.planes.at("Task Environment").stats.at("profile_start_time").number, 1000);
}

TEST(XSpace, MemoryEventsAreSigned) {
  recorded const r(exec::host{1});
  auto const host = read_space(profile::to_xspace(r.trace, r.programs, desk)).planes.at("/host:CPU");
  std::map<std::int64_t, std::int64_t> live;
  std::int64_t bytes = 0, peak = 0;
  for (auto const& e : host.lines.at("thread 0")) {
    if (!e.name.starts_with("Memory")) continue;
    for (auto const* name :
         {"bytes_allocated", "bytes_available", "peak_bytes_in_use", "requested_bytes", "allocation_bytes", "addr"})
      EXPECT_EQ(e.stats.at(name).field, 4) << name << ": another type is read as 0";
    auto const size = e.stats.at("allocation_bytes").number, address = e.stats.at("addr").number;
    if (e.name == "MemoryAllocation") {
      EXPECT_TRUE(live.emplace(address, size).second);
    } else {
      EXPECT_EQ(live[address], size);
      live.erase(address);
    }
    bytes += e.name == "MemoryAllocation" ? size : -size;
    EXPECT_EQ(e.stats.at("bytes_allocated").number, bytes);
    peak = std::max(peak, bytes);
    EXPECT_EQ(e.stats.at("peak_bytes_in_use").number, peak);
  }
  EXPECT_GT(peak, 0);
  EXPECT_TRUE(live.empty());
}

TEST(XSpace, DeviceRun) {
  recorded const r(exec::emulated{});
  auto gpu = desk;
  gpu.backend = profile::backend::emulated;
  read_space const space(profile::to_xspace(r.trace, r.programs, gpu));
  EXPECT_FALSE(space.planes.contains("/device:TPU:0"));
  auto const& device = space.planes.at("/device:GPU:0");
  EXPECT_EQ(device.stats.at("memory_bandwidth").field, 3);
  EXPECT_EQ(device.stats.at("memory_bandwidth").number, 20'000'000'000);
  auto const& stream = device.lines.at("Stream #0(Compute)");
  std::map<std::int64_t, std::string> launches;
  std::pair<std::int64_t, std::int64_t> step{-1, -1};
  auto const host = space.planes.at("/host:CPU").lines.at("thread 0");
  for (auto const& e : host) {
    if (e.stats.contains("_r")) step = {e.begin, e.begin + e.duration};
    EXPECT_FALSE(e.stats.contains("_p"));
    if (!e.stats.contains("correlation_id")) continue;
    EXPECT_TRUE(e.name.find("Mem") != e.name.npos || (step.first <= e.begin && e.begin + e.duration <= step.second))
        << "kernels are launched within the step";
    EXPECT_EQ(e.stats.at("correlation_id").field, 3);
    EXPECT_EQ(e.stats.at("device_id").field, 4);
    launches[e.stats.at("correlation_id").number] = e.name;
  }
  std::uint64_t flops = 0;
  std::size_t kernels = 0, copies = 0;
  for (auto const& e : stream) {
    ASSERT_EQ(e.stats.at("correlation_id").field, 3) << "as int64 all arrows share one end";
    EXPECT_TRUE(launches.contains(e.stats.at("correlation_id").number)) << e.name;
    if (e.name.starts_with("Mem")) {
      ++copies;
      EXPECT_TRUE(e.stats.contains(e.name == "Memset" ? "memset_details" : "memcpy_details")) << e.name;
      EXPECT_FALSE(e.stats.contains("kernel_details"));
      continue;
    }
    ++kernels;
    EXPECT_NE(e.stats.at("kernel_details").text.find("block:"), std::string::npos);
    EXPECT_EQ(e.stats.at("hlo_module").text, "back_v19");
    EXPECT_EQ(e.stats.at("program_id").number, 1);
    EXPECT_EQ(e.stats.at("flops").field, 3);
    flops += static_cast<std::uint64_t>(e.stats.at("flops").number);
  }
  EXPECT_GT(copies, 0u);
  EXPECT_EQ(kernels, r.counts.last().launches);
  EXPECT_EQ(flops, r.counts.last().operations.flops());
  EXPECT_GE(step.first, 0);
}

/// One launch of a graph runs several kernels.
TEST(XSpace, NodesOfAGraph) {
  instrument::trace_buffer trace(10);
  auto const stream = trace.track(instrument::track_kind::stream, 0);
  trace.add({"launch", event_kind::launch, 10, 20, 0, trace.track(), 0, 0, 1});
  trace.add({"step", event_kind::operation, 0, 100, 0, trace.track()});
  for (auto const* node : {"a", "b", "b"}) trace.add({node, event_kind::kernel, 20, 30, 0, stream, 0, 0, 1});
  auto gpu = desk;
  gpu.backend = profile::backend::cuda;
  auto const lines = read_space(profile::to_xspace(trace, {}, gpu)).planes.at("/device:GPU:0").lines;
  std::multiset<std::string> ops;
  for (auto const& e : lines.at("Stream #0(Compute)")) ops.insert(e.name + ' ' + e.stats.at("hlo_op").text);
  EXPECT_EQ(ops, (std::multiset<std::string>{"a a", "b b", "b b"}));
}

/// The user's own program, without counts: its author's estimates.
TEST(XSpace, StepsWithoutADescription) {
  instrument::trace_buffer trace(100);
  auto const add = [&](char const* name, event_kind kind, std::int64_t begin, std::int64_t end, index_t flops) {
    trace.add({name, kind, begin, end, 0, trace.track(), 64, flops});
  };
  for (int step = 0; step < 2; ++step) {
    add("load", event_kind::stage, step * 100, step * 100 + 10, 0);
    add("forward", event_kind::stage, step * 100 + 10, step * 100 + 90, 1000);
    add("training step", event_kind::operation, step * 100, step * 100 + 100, 0);
  }
  auto const device = read_space(profile::to_xspace(trace, {}, desk)).planes.at("/device:TPU:0");
  ASSERT_EQ(device.lines.at("Steps").size(), 2u);
  auto const& ops = device.lines.at("XLA Ops");
  ASSERT_EQ(ops.size(), 4u);
  EXPECT_EQ(ops[0].begin, 1) << "after its step, by a picosecond";
  EXPECT_EQ(ops[0].duration, 9999);
  EXPECT_EQ(ops[1].display_name, "forward");
  EXPECT_EQ(ops[1].shared.at("flops").number, 1000) << "of each";
  EXPECT_EQ(ops[3].shared.at("bytes_accessed").number, 64);
  EXPECT_EQ(device.lines.at("XLA Modules").at(0).name, "training_step(1)");
}

TEST(XSpace, LossesAreStated) {
  instrument::trace_buffer trace(1);
  for (int k = 0; k < 3; ++k) trace.add({"step", event_kind::operation, k, k + 1, 0, trace.track()});
  auto const warnings = read_space(profile::to_xspace(trace, {}, desk)).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("2 events were dropped"), std::string::npos) << warnings[0];
}

TEST(XSpace, OperationsOfTwoThreadsAtOnce) {
  instrument::trace_buffer trace(10);
  auto const other = trace.track(instrument::track_kind::thread, 7);
  trace.add({"a", event_kind::operation, 0, 100, 0, trace.track()});
  trace.add({"b", event_kind::operation, 50, 150, 0, other});
  trace.add({"c", event_kind::operation, 100, 200, 0, trace.track()});
  read_space const space(profile::to_xspace(trace, {}, desk));
  EXPECT_EQ(space.planes.at("/device:TPU:0").lines.at("XLA Ops").size(), 2u);
  expect_nested(space.planes.at("/device:TPU:0").lines.at("XLA Ops"));
  EXPECT_EQ(space.planes.at("/host:CPU").lines.at("thread 7").size(), 1u);
  ASSERT_EQ(space.warnings.size(), 1u);
  EXPECT_NE(space.warnings[0].find("1 operations ran while"), std::string::npos);
}

TEST(XSpace, LongIdleTimesAreCutOut) {
  instrument::trace_buffer trace(10);
  trace.add({"a", event_kind::operation, 1000, 1100, 0, trace.track()});
  trace.add({"b", event_kind::operation, 5000, 5100, 0, trace.track()});
  read_space const space(profile::to_xspace(trace, {}, desk, {.longest_idle = 10}));
  auto const& steps = space.planes.at("/device:TPU:0").lines.at("Steps");
  EXPECT_EQ(steps.at(0).begin, 10'000);
  EXPECT_EQ(steps.at(1).begin, 120'000);
  EXPECT_EQ(steps.at(1).duration, 100'000);
  ASSERT_EQ(space.warnings.size(), 1u);
  EXPECT_NE(space.warnings[0].find("cut out"), std::string::npos);
  EXPECT_EQ(read_space(profile::to_xspace(trace, {}, desk)).planes.at("/device:TPU:0").lines.at("Steps").at(1).begin,
            5'000'000);
}

TEST(XSpace, AnyTextIsReadable) {
  instrument::trace_buffer trace(10);
  trace.add({"two\nlines \xff \xc3\xa4", event_kind::operation, 0, 10, 0, trace.track()});
  auto const host = read_space(profile::to_xspace(trace, {}, desk)).planes.at("/host:CPU");
  EXPECT_EQ(host.lines.at("thread 0").at(0).name, "two lines ? \xc3\xa4");
}

TEST(XSpace, NothingTraced) {
  instrument::trace_buffer const trace(10);
  auto const space = read_space(profile::to_xspace(trace, {}, {}));
  EXPECT_TRUE(space.planes.at("/device:TPU:0").lines.at("Steps").empty());
}

}  // namespace
