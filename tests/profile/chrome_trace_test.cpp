// Chrome traces: exact times, names of any bytes, rows of nested spans, arrows between existing spans, counters, the
// cap; and traces of real runs.
#include "mbirk/profile/chrome_trace.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "emulated_instances.hpp"
#include "instrument/operations.hpp"
#include "mbirk/exec/emulated.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/instrument/tracing.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using instrument::event_kind;
using instrument::track_kind;
using nlohmann::json;

/// A trace read back, its times as nanoseconds.
struct read_back {
  json all;
  explicit read_back(instrument::trace_buffer const& trace, profile::chrome_options const& options = {})
      : all(json::parse(profile::to_chrome_trace(trace, options))) {}

  static std::int64_t ns(json const& us) { return static_cast<std::int64_t>(std::llround(us.get<double>() * 1000)); }
  static std::int64_t begin(json const& e) { return ns(e["ts"]); }
  static std::int64_t end(json const& e) { return ns(e["ts"]) + ns(e["dur"]); }
  std::vector<json> of(char const* phase, std::string const& name = {}) const {
    std::vector<json> found;
    for (auto const& e : all["traceEvents"])
      if (e["ph"] == phase && (name.empty() || e["name"] == name)) found.push_back(e);
    return found;
  }
  json span(std::string const& name) const {
    auto const found = of("X", name);
    EXPECT_EQ(found.size(), 1u) << name;
    return found.empty() ? json::object() : found[0];
  }
  std::string row(json const& e) const {
    for (auto const& m : of("M", "thread_name"))
      if (m["pid"] == e["pid"] && m["tid"] == e["tid"]) return m["args"]["name"];
    return "no name";
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> counter(std::string const& name, char const* series) const {
    std::vector<std::pair<std::int64_t, std::int64_t>> values;
    for (auto const& e : of("C", name)) values.emplace_back(begin(e), e["args"][series].get<std::int64_t>());
    return values;
  }
  bool inside(json const& point) const {
    for (auto const& e : of("X"))
      if (e["pid"] == point["pid"] && e["tid"] == point["tid"] && begin(e) <= begin(point) && begin(point) <= end(e))
        return true;
    return false;
  }
  /// Spans of a row nest or are disjoint; arrows begin and end in spans, and do not point back in time.
  void check() const {
    std::map<std::pair<int, int>, std::vector<json>> rows;
    std::set<std::pair<int, int>> named;
    for (auto const& e : of("X")) rows[{e["pid"], e["tid"]}].push_back(e);
    for (auto const& m : of("M", "thread_name"))
      EXPECT_TRUE(named.emplace(m["pid"].get<int>(), m["tid"].get<int>()).second) << m;
    for (auto& [row, spans] : rows) {
      EXPECT_TRUE(named.contains(row)) << row.first << ' ' << row.second;
      for (std::size_t i = 0; i < spans.size(); ++i)
        for (std::size_t j = 0; j < i; ++j) {
          auto const &a = spans[i], &b = spans[j];
          bool const apart = end(a) <= begin(b) || end(b) <= begin(a);
          bool const nested = (begin(a) <= begin(b) && end(b) <= end(a)) || (begin(b) <= begin(a) && end(a) <= end(b));
          EXPECT_TRUE(apart || nested) << a << b;
        }
    }
    std::map<int, std::vector<json>> arrows;
    for (auto const* phase : {"s", "f"})
      for (auto const& e : of(phase)) arrows[e["id"]].push_back(e);
    for (auto const& [id, ends] : arrows) {
      ASSERT_EQ(ends.size(), 2u) << id;
      EXPECT_EQ(ends[0]["ph"], "s");
      EXPECT_EQ(ends[1].value("bp", ""), "e");
      EXPECT_EQ(ends[0]["cat"], ends[1]["cat"]);
      EXPECT_LE(begin(ends[0]), begin(ends[1]));
      EXPECT_TRUE(inside(ends[0]) && inside(ends[1])) << ends[0] << ends[1];
    }
  }
};

/// project [0, 1000] on thread 0 contains load [100, 300] and sum [400, 900], with a kernel in each; two workers.
struct Chrome : ::testing::Test {
  instrument::trace_buffer trace{100};
  std::int32_t const thread = trace.track(), worker = trace.track(track_kind::worker, 0),
                     other = trace.track(track_kind::worker, 1);
  void span(char const* name, event_kind kind, std::int32_t track, std::int64_t begin, std::int64_t end,
            index_t value = 0, std::uint64_t id = 0) {
    trace.add({name, kind, begin, end, value, track, 0, 0, id});
  }
  void a_run() {
    trace.add({"rows", event_kind::memory, 120, 120, 4096, thread, 4096});
    span("copy_rows", event_kind::worker, worker, 150, 250, 3),
        span("copy_rows", event_kind::worker, other, 150, 240, 2);
    span("copy_rows", event_kind::kernel, thread, 150, 260, 5);
    span("load", event_kind::stage, thread, 100, 300);
    span("device_reduce", event_kind::worker, worker, 500, 800, 7);
    span("device_reduce", event_kind::kernel, thread, 500, 810, 7);
    span("sum", event_kind::stage, thread, 400, 900);
    trace.add({"rows", event_kind::memory, 950, 950, 0, thread, -4096});
    trace.add({"project", event_kind::operation, 0, 1000, 42, thread, 77, 88});
  }
};

TEST_F(Chrome, Rows) {
  a_run();
  read_back const r(trace);
  r.check();
  EXPECT_EQ(r.of("X").size(), 8u);
  auto const project = r.span("project");
  EXPECT_EQ(project["cat"], "operation");
  EXPECT_EQ(project["args"], (json{{"items", 42}, {"bytes", 77}, {"flops", 88}}));
  EXPECT_EQ(r.row(project), "thread 0");
  EXPECT_EQ(r.row(r.span("load")), "thread 0");
  std::map<std::string, int> rows;
  for (auto const& e : r.of("X", "copy_rows")) rows[r.row(e) + ' ' + e["cat"].get<std::string>()] = e["args"]["tasks"];
  EXPECT_EQ(rows, (std::map<std::string, int>{{"thread 0 kernel", 5}, {"worker 0 worker", 3}, {"worker 1 worker", 2}}));
  EXPECT_EQ(r.of("M", "process_name").size(), 1u) << "no device";
  EXPECT_EQ(r.of("M", "thread_sort_index").size(), 3u);
}

TEST_F(Chrome, ArrowsFromOperationsToKernels) {
  a_run();
  read_back const r(trace);
  auto const ends = r.of("f");
  ASSERT_EQ(ends.size(), 2u);
  EXPECT_EQ(read_back::begin(ends[0]), 150);
  EXPECT_EQ(read_back::begin(ends[1]), 500);
  for (auto const& e : r.of("s")) EXPECT_EQ(read_back::begin(e), 0) << "where the operation alone is open";
}

TEST_F(Chrome, Counters) {
  a_run();
  trace.add({"temperature", event_kind::counter, 700, 700, 55, thread});
  read_back const r(trace);
  using values = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(r.counter("live bytes", "bytes"), (values{{120, 4096}, {950, 0}}));
  EXPECT_EQ(r.counter("threads busy", "threads"), (values{{150, 2}, {240, 1}, {250, 0}, {500, 1}, {800, 0}}));
  EXPECT_EQ(r.counter("temperature", "value"), (values{{700, 55}}));
}

TEST_F(Chrome, TimesAreExact) {
  span("long", event_kind::operation, thread, 9'007'199'254'740'993, 9'007'199'254'741'995);
  span("short", event_kind::operation, thread, 1, 8);
  auto const text = profile::to_chrome_trace(trace);
  EXPECT_NE(text.find("\"ts\":9007199254740.993,\"dur\":1.002,"), std::string::npos) << text;
  EXPECT_NE(text.find("\"ts\":0.001,\"dur\":0.007,"), std::string::npos) << text;
  EXPECT_EQ(profile::detail::microseconds(-1), "-0.001");
  EXPECT_EQ(profile::detail::microseconds(std::numeric_limits<std::int64_t>::min()), "-9223372036854775.808");
}

TEST_F(Chrome, NamesOfAnyBytes) {
  std::string every;
  for (int c = 1; c < 0x80; ++c) every += static_cast<char>(c);
  std::string printed = every;
  for (auto& c : printed)
    if (c < 0x20) c = ' ';
  span(trace.text(every), event_kind::stage, thread, 0, 1);
  read_back const r(trace,
                    {.process = "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xff \xc0\x80 \xed\xa0\x80 \xe2\x82"});
  EXPECT_EQ(r.of("X")[0]["name"].get<std::string>(), printed);
  std::string const lost = "\xef\xbf\xbd";
  EXPECT_EQ(r.of("M", "process_name")[0]["args"]["name"].get<std::string>(),
            "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 " + lost + ' ' + lost + lost + ' ' + lost + lost + lost + ' ' +
                lost + lost);
}

TEST_F(Chrome, LaunchesAndStreams) {
  auto const stream = trace.track(track_kind::stream, 0), next = trace.track(track_kind::stream, 1);
  span("scatter", event_kind::launch, thread, 100, 120, 9, 5),
      span("MemcpyHtoD", event_kind::launch, thread, 200, 220, 0, 6);
  span("late", event_kind::launch, thread, 230, 240, 0, 7), span("gone", event_kind::launch, thread, 250, 260, 0, 8);
  span("back", event_kind::stage, thread, 90, 400);
  span("project", event_kind::operation, thread, 80, 450);
  trace.add({"scatter", event_kind::kernel, 300, 900, 9, stream, 0, 0, 5,
             "regs:40 static_shared:0 grid:512,1,1 block:256,1,1 occ_pct:75 0815 x:"});
  trace.add({"MemcpyHtoD", event_kind::copy, 195, 800, 0, next, 4096, 0, 6});  // by the device clock before its launch
  span("late", event_kind::kernel, stream, 850, 990, 1, 7);                    // overlaps the one before
  span("small", event_kind::kernel, stream, 350, 400);  // enclosed by it, but must not look like its callee
  read_back const r(trace, {.devices = {"this", "that"}, .device_of_stream = {0, 1}});
  r.check();
  std::map<std::string, json> on_device;
  for (auto const& e : r.of("X"))
    if (e["cat"] == "kernel" || e["cat"] == "copy") on_device[e["name"]] = e;
  auto const kernel = on_device["scatter"], copy = on_device["MemcpyHtoD"], late = on_device["late"];
  EXPECT_EQ(kernel["pid"], 1000);
  EXPECT_EQ(copy["pid"], 1001);
  EXPECT_EQ(r.row(kernel), "stream 0");
  EXPECT_EQ(r.row(late), "stream 0 lane 2");
  EXPECT_EQ(r.row(r.span("small")), "stream 0 lane 2");
  EXPECT_EQ(r.row(copy), "stream 1");
  EXPECT_EQ(copy["args"], (json{{"bytes", 4096}, {"operation", "project"}, {"stage", "back"}, {"launch", 6}}));
  EXPECT_EQ(kernel["args"], (json{{"tasks", 9},
                                  {"operation", "project"},
                                  {"stage", "back"},
                                  {"launch", 5},
                                  {"registers", 40},
                                  {"static shared bytes", 0},
                                  {"grid", "512,1,1"},
                                  {"block", "256,1,1"},
                                  {"occupancy %", 75},
                                  {"detail", "0815"},
                                  {"x", ""}}));
  EXPECT_EQ(r.of("s").size(), 3u) << "what was queued and did not run has none";
  std::set<std::string> processes;
  for (auto const& m : r.of("M", "process_name")) processes.insert(m["args"]["name"]);
  EXPECT_EQ(processes, (std::set<std::string>{"mbirk", "this", "that"}));
}

TEST_F(Chrome, OverlappingSpansOfAThreadGetALane) {
  span("a", event_kind::stage, thread, 0, 100), span("b", event_kind::stage, thread, 50, 150),
      span("in b", event_kind::stage, thread, 110, 150);
  span("c", event_kind::stage, thread, 100, 200);
  read_back const r(trace);
  r.check();
  EXPECT_EQ(r.row(r.span("a")), "thread 0");
  EXPECT_EQ(r.row(r.span("b")), "thread 0 lane 2");
  EXPECT_EQ(r.row(r.span("c")), "thread 0");
}

TEST_F(Chrome, EqualSpansAreInOrder) {
  span("inner", event_kind::stage, thread, 5, 10), span("outer", event_kind::operation, thread, 5, 10);
  auto const spans = read_back(trace).of("X");
  EXPECT_EQ(spans[0]["name"], "outer");
  EXPECT_EQ(spans[1]["name"], "inner");
}

TEST_F(Chrome, StatesWhatIsMissing) {
  a_run();
  auto const all = read_back(trace).all;
  EXPECT_EQ(all["otherData"]["dropped events"], 0);
  EXPECT_EQ(all["otherData"]["left out events"], 0);
  std::size_t const spans = 8, samples = 2, arrow_ends = 4, busy = 5;
  for (std::size_t most = 0; most <= spans + samples + arrow_ends + busy; ++most) {
    read_back const r(trace, {.max_events = most});
    r.check();
    std::size_t const kept = r.all["traceEvents"].size() - r.of("M").size();
    EXPECT_LE(kept, most);
    EXPECT_GE(kept + 1, most) << "an arrow needs two";
    EXPECT_EQ(kept + r.all["otherData"]["left out events"].get<std::size_t>(), spans + samples + arrow_ends + busy);
    EXPECT_EQ(r.of("X", "project").size(), most >= 1 ? 1u : 0u) << "operations first";
    EXPECT_EQ(r.of("X", "sum").size(), most >= 3 ? 1u : 0u) << "then stages";
  }
  instrument::trace_buffer small(3);
  for (int k = 0; k < 10; ++k) small.add({"x", event_kind::stage, k, k + 1});
  read_back const r(small, {.about = {{"command", "a \"test\""}}});
  EXPECT_EQ(r.all["otherData"]["dropped events"], 7);
  EXPECT_EQ(r.all["otherData"]["command"], "a \"test\"");
}

TEST_F(Chrome, AnEmptyTrace) {
  EXPECT_EQ(read_back(trace).of("X").size(), 0u);
  EXPECT_EQ(read_back(instrument::trace_buffer(0)).of("M").size(), 2u);
}

TEST(ChromeOfARun, KernelsHaveTheirCounts) {
  auto const s = square_parallel(32);
  instrument::trace_buffer trace(10'000);
  instrument::ledger counted;
  run<op::back>(context{exec::host{2}, instrument::tracing{trace}}, s);
  auto const between = trace.now();
  run<op::back>(context{exec::host{2}, instrument::tracing{trace}}, s);
  run<op::back>(context{exec::host{1}, instrument::counting<>{counted}}, s);
  read_back const r(trace, {.counts = {{counted.last(), 0, between}}});
  r.check();
  std::uint64_t flops = 0, bytes = 0;
  int kernels = 0, without = 0;
  for (auto const& e : r.of("X")) {
    bool const first = read_back::end(e) <= between;
    if (e["cat"] == "operation" && first) {
      EXPECT_EQ(e["args"]["counted flops"], counted.last().operations.flops());
    }
    if (e["cat"] != "kernel") continue;
    if (!first) {
      EXPECT_FALSE(e["args"].contains("counted flops")) << "counts of another time";
      continue;
    }
    ++kernels;
    if (!e["args"].contains("counted flops")) ++without;
    else
      flops += e["args"]["counted flops"].get<std::uint64_t>(),
          bytes += e["args"]["counted bytes"].get<std::uint64_t>();
  }
  EXPECT_GT(kernels, 2);
  EXPECT_EQ(without, 0);
  EXPECT_EQ(flops, counted.last().operations.flops());
  EXPECT_EQ(bytes, bytes_accessed(counted.last().arrays));
}

TEST(ChromeOfARun, CountsOfOtherWorkAreNotShown) {
  instrument::trace_buffer trace(10'000);
  instrument::ledger counted;
  run<op::back>(context{exec::host{2}, instrument::tracing{trace}}, square_parallel(32));
  run<op::back>(context{exec::host{1}, instrument::counting<>{counted}}, square_parallel(32));
  auto record = counted.last();
  for (auto& k : record.kernels) ++k.tasks;
  read_back const r(trace, {.counts = {{record}}});
  for (auto const& e : r.of("X")) EXPECT_FALSE(e["cat"] == "kernel" && e["args"].contains("counted flops")) << e;
}

TEST(ChromeOfARun, ManyLaunchesShareTheirCount) {
  auto const s = square_parallel(16);
  instrument::trace_buffer trace(10'000);
  instrument::ledger counted;
  auto const twice = [&](auto const& ctx) {
    [[maybe_unused]] auto const outer = ctx.instr.scope({"twice"});
    for (int k = 0; k < 2; ++k) run<op::back>(ctx, s);
  };
  twice(context{exec::host{1}, instrument::tracing{trace}});
  twice(context{exec::host{1}, instrument::counting<>{counted}});
  ASSERT_EQ(counted.last().name, "twice");
  read_back const r(trace, {.counts = {{counted.last()}}});
  std::uint64_t flops = 0;
  for (auto const& e : r.of("X")) {
    if (e["cat"] != "kernel") continue;
    ASSERT_TRUE(e["args"].contains("counted flops of 2 launches")) << e;
    flops += e["args"]["counted flops of 2 launches"].get<std::uint64_t>();
  }
  EXPECT_EQ(flops, 2 * counted.last().operations.flops()) << "each of the two shows the count of both";
}

TEST(ChromeOfARun, OnADevice) {
  instrument::trace_buffer trace(10'000);
  auto const s = square_cone(16);
  run<op::forward>(context{exec::emulated{}, instrument::tracing{trace}}, s);
  trace.finish();
  read_back const r(trace);
  r.check();
  std::size_t queued = 0;
  for (auto const& e : r.of("X")) {
    if (e["cat"] != "kernel" && e["cat"] != "copy") continue;
    EXPECT_EQ(e["pid"], 1000);
    EXPECT_EQ(r.row(e), "stream 0");
    EXPECT_EQ(e["args"]["operation"], "cone_forward_project");
    ++queued;
  }
  EXPECT_GT(queued, 2u);
  EXPECT_EQ(r.of("s").size(), queued);
  for (auto const& e : r.of("s")) EXPECT_EQ(e["cat"], "launch");
}

}  // namespace
