// CUPTI's records as events. The records are filled by hand, as no test machine has a device: first the conversion,
// then the collector on a stand-in for CUPTI that delivers them, then the real library, which must explain why it
// cannot be used without a device.
#include "mbirk/profile/cupti.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <optional>
#include <thread>

namespace {

using namespace mbirk;
using namespace mbirk::profile;
using instrument::event_kind;
using instrument::track_kind;

CUpti_ActivityDevice5 hopper() {
  CUpti_ActivityDevice5 d{};
  d.kind = CUPTI_ACTIVITY_KIND_DEVICE, d.computeCapabilityMajor = 9, d.numThreadsPerWarp = 32,
  d.maxThreadsPerBlock = 1024, d.maxWarpsPerMultiprocessor = 64;
  d.maxRegistersPerBlock = d.maxRegistersPerMultiprocessor = 65536, d.maxSharedMemoryPerBlock = 48 * 1024,
  d.maxSharedMemoryPerMultiprocessor = 228 * 1024;
  d.numMultiprocessors = 132, d.maxBlocksPerMultiprocessor = 32;
  return d;
}
CUpti_ActivityKernel10 kernel(std::uint64_t begin, std::uint64_t end, std::uint32_t correlation,
                              char const* name = "_ZN5mbirk4backEi") {
  CUpti_ActivityKernel10 k{};
  k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, k.registersPerThread = 40, k.start = begin, k.end = end,
  k.streamId = 7, k.correlationId = correlation, k.name = name;
  k.gridX = 512, k.gridY = k.gridZ = 1, k.blockX = 256, k.blockY = k.blockZ = 1, k.dynamicSharedMemory = 4096;
  return k;
}
CUpti_ActivityAPI api(std::uint64_t begin, std::uint64_t end, std::uint32_t correlation) {
  CUpti_ActivityAPI a{};
  a.kind = CUPTI_ACTIVITY_KIND_RUNTIME, a.start = begin, a.end = end, a.correlationId = correlation;
  return a;
}
CUpti_ActivityMemcpy6 copied(std::uint8_t kind, std::uint64_t bytes) {
  CUpti_ActivityMemcpy6 m{};
  m.kind = CUPTI_ACTIVITY_KIND_MEMCPY, m.copyKind = kind, m.bytes = bytes, m.start = 10, m.end = 30,
  m.correlationId = 5, m.streamId = 7;
  return m;
}
CUpti_ActivityMemory4 memory(CUpti_ActivityMemoryOperationType what, std::uint64_t bytes, std::uint64_t when) {
  CUpti_ActivityMemory4 m{};
  m.kind = CUPTI_ACTIVITY_KIND_MEMORY2, m.memoryOperationType = what, m.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
  m.bytes = bytes, m.timestamp = when;
  return m;
}

TEST(CuptiRecords, AKernelSaysHowItWasLaunched) {
  auto const device = hopper();
  auto const a = activity_of(kernel(100, 150, 3), &device);
  EXPECT_EQ(a.name, "mbirk::back(int)");
  EXPECT_EQ(a.begin, 100u);
  EXPECT_EQ(a.end, 150u);
  EXPECT_EQ(a.stream, 7u);
  EXPECT_EQ(a.correlation, 3u);
  // 40 registers: 65536 / (8 warps * 1280) = 6 blocks of 8 warps, of 64
  EXPECT_EQ(a.detail, "regs:40 static_shared:0 dynamic_shared:4096 grid:512,1,1 block:256,1,1 occ_pct:75");
  EXPECT_EQ(activity_of(kernel(1, 2, 3)).detail,
            "regs:40 static_shared:0 dynamic_shared:4096 grid:512,1,1 block:256,1,1");
  EXPECT_EQ(activity_of(kernel(1, 2, 3, "plain_c")).name, "plain_c");
  EXPECT_EQ(activity_of(kernel(1, 2, 3, nullptr)).name, "kernel");
}

TEST(CuptiRecords, OccupancyIsLimitedBySharedMemoryToo) {
  auto k = kernel(1, 2, 3);
  k.dynamicSharedMemory =
      100 * 1024;  // with the kilobyte that the system keeps of each block, two blocks fit into 228 KiB
  EXPECT_EQ(cupti_occupancy(k, hopper()), 25);
  k.blockX = 0;
  EXPECT_EQ(cupti_occupancy(k, hopper()), 0) << "no such launch";
}

TEST(CuptiRecords, CopiesAndMemory) {
  for (auto const& [kind, name] : {std::pair<std::uint8_t, char const*>{CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, "MemcpyHtoD"},
                                   {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, "MemcpyDtoH"},
                                   {CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, "MemcpyDtoD"},
                                   {CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, "MemcpyPtoP"}}) {
    auto const a = activity_of(copied(kind, 4096));
    EXPECT_EQ(a.name, name);
    EXPECT_EQ(a.bytes, 4096);
    EXPECT_EQ(a.kind, cupti_kind::copy);
  }
  EXPECT_EQ(activity_of(memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, 64, 1)).bytes, 64);
  EXPECT_EQ(activity_of(memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, 64, 1)).bytes, -64);
  auto pinned = memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, 64, 1);
  pinned.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  EXPECT_EQ(activity_of(pinned).bytes, 0);
}

TEST(CuptiClock, TwoPairsOfReadingsAgree) {
  // 1100 ticks of our clock are 1000 of CUPTI's
  cupti_clock const c{{1'000'000'000'000, 500}, {1'000'000'001'000, 1600}};
  EXPECT_EQ(c(1'000'000'000'000), 500);
  EXPECT_EQ(c(1'000'000'001'000), 1600);
  EXPECT_EQ(c(1'000'000'000'500), 1050);
  cupti_clock const one{{2000, 100}, {2000, 100}};
  EXPECT_EQ(one(2500), 600);
  EXPECT_EQ(one(1950), 50) << "before the first reading";
}

/// Two launches of mbirk at 100..110 and 200..210, timed by marks; the clocks differ by 1000.
struct Merge : ::testing::Test {
  instrument::trace_buffer marked{100}, into{100};
  cupti_clock const clock{{1000, 0}, {2000, 1000}};
  std::vector<cupti_activity> found;
  cupti_ranges ranges;
  void SetUp() override {
    auto const host = marked.track(), stream = marked.track(track_kind::stream, 0);
    marked.add({"parallel_back_project", event_kind::operation, 90, 400, 77, host});
    for (auto const& [id, name, at] :
         {std::tuple<std::uint64_t, char const*, std::int64_t>{1, "scatter", 100}, {2, "gather", 200}}) {
      marked.add({name, event_kind::launch, at, at + 10, 5, host, 0, 0, id});
      marked.add({name, event_kind::kernel, at + 20, at + 60, 5, stream, 0, 0, id, "regs:40 occ_pct:50"});
    }
  }
  void merge() { merge_cupti(marked, found, ranges, clock, into); }
  std::vector<instrument::trace_event> of(event_kind kind) const {
    std::vector<instrument::trace_event> some;
    for (auto const& e : into.events())
      if (e.kind == kind) some.push_back(e);
    return some;
  }
};

TEST_F(Merge, RecordsReplaceMarksOfTheLaunchThatTheirCallLiesIn) {
  found = {activity_of(api(1102, 1108, 31), "cudaLaunchKernel"), activity_of(kernel(1125, 1150, 31))};
  merge();
  auto const kernels = of(event_kind::kernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_STREQ(kernels[0].name, "scatter");
  EXPECT_EQ(kernels[0].id, 1u);
  EXPECT_EQ(kernels[0].value, 5) << "tasks";
  EXPECT_EQ(kernels[0].begin, 125);
  EXPECT_EQ(kernels[0].end, 150);
  EXPECT_STREQ(kernels[0].detail, "regs:40 static_shared:0 dynamic_shared:4096 grid:512,1,1 block:256,1,1 occ_pct:50")
      << "occupancy from the mark";
  EXPECT_STREQ(kernels[1].name, "gather") << "has no record";
  EXPECT_EQ(kernels[1].begin, 220);
  EXPECT_EQ(kernels[1].track, kernels[0].track);
  EXPECT_EQ(of(event_kind::launch).size(), 2u) << "the calls are those of the marks";
  EXPECT_EQ(of(event_kind::operation).size(), 1u);
  EXPECT_EQ(into.dropped(), 0u);
}

TEST_F(Merge, NodesOfAGraphHaveTheRangeOfTheirCallAndRowsWhereTheyOverlap) {
  ranges.ranges[9] = {"step", 0};
  ranges.of_call[41] = 9;
  found = {activity_of(api(1300, 1310, 41), "cudaGraphLaunch"), activity_of(kernel(1320, 1350, 41, "a")),
           activity_of(kernel(1330, 1360, 41, "b")), activity_of(kernel(1360, 1370, 41, "c"))};
  merge();
  auto const launches = of(event_kind::launch), kernels = of(event_kind::kernel);
  ASSERT_EQ(launches.size(), 3u);
  auto const& call = launches.front();
  EXPECT_STREQ(call.name, "cudaGraphLaunch");
  EXPECT_STREQ(call.detail, "range:step");
  EXPECT_GT(call.id, 2u) << "not that of a mark";
  ASSERT_EQ(kernels.size(), 5u);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(kernels[k].id, call.id);
  EXPECT_NE(kernels[0].track, kernels[1].track) << "they overlap";
  EXPECT_EQ(kernels[0].track, kernels[2].track);
  auto const tracks = into.tracks();
  EXPECT_EQ(tracks[static_cast<std::size_t>(kernels[1].track)].kind, track_kind::stream);
}

TEST_F(Merge, MemoryIsACounterAndLossesStay) {
  found = {activity_of(memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE, 100, 1500)),
           activity_of(memory(CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION, 300, 1400))};
  marked.lost();
  merge();
  auto const counters = of(event_kind::counter);
  ASSERT_EQ(counters.size(), 2u);
  EXPECT_EQ(counters[0].value, 300);
  EXPECT_EQ(counters[1].value, 200);
  EXPECT_EQ(into.dropped(), 1u);
}

/// A stand-in for CUPTI that delivers the contents of the test's buffer. Its clock is ours plus 1000.
struct fake {
  CUpti_BuffersCallbackRequestFunc requested = nullptr;
  CUpti_BuffersCallbackCompleteFunc completed = nullptr;
  std::vector<std::vector<std::byte>> records;
  std::vector<std::uint64_t> pushed;
  int enabled = 0, subscribed = 0;
  std::size_t dropped = 0;
  CUptiResult enabling = CUPTI_SUCCESS;
  char const* other = nullptr;
  instrument::trace_buffer* clock = nullptr;
  template <class R> void put(R const& r) {
    auto const* const bytes = reinterpret_cast<std::byte const*>(&r);
    records.emplace_back(bytes, bytes + sizeof r);
  }
};
fake* one = nullptr;

cupti_functions functions_of(fake& f) {
  one = &f;
  cupti_functions t;
  t.get_version = [](std::uint32_t* v) { return *v = CUPTI_API_VERSION, CUPTI_SUCCESS; };
  t.get_result_string = [](CUptiResult, char const** text) { return *text = "CUPTI_ERROR_UNKNOWN", CUPTI_SUCCESS; };
  t.get_timestamp = [](std::uint64_t* now) {
    return *now = static_cast<std::uint64_t>(one->clock->now()) + 1000, CUPTI_SUCCESS;
  };
  t.get_callback_name = [](CUpti_CallbackDomain, std::uint32_t, char const** name) {
    return *name = "cudaLaunchKernel_v7000", CUPTI_SUCCESS;
  };
  t.subscribe = [](CUpti_SubscriberHandle* s, CUpti_CallbackFunc, void*, CUpti_SubscriberParams* p) {
    if (one->other)
      return std::strncpy(p->oldSubscriberName, one->other, p->oldSubscriberSize),
             CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    return *s = reinterpret_cast<CUpti_SubscriberHandle>(one), ++one->subscribed, CUPTI_SUCCESS;
  };
  t.unsubscribe = [](CUpti_SubscriberHandle) { return --one->subscribed, CUPTI_SUCCESS; };
  t.register_callbacks = [](CUpti_BuffersCallbackRequestFunc r, CUpti_BuffersCallbackCompleteFunc c) {
    return one->requested = r, one->completed = c, CUPTI_SUCCESS;
  };
  t.enable = [](CUpti_ActivityKind kind) {
    if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && one->enabling != CUPTI_SUCCESS) return one->enabling;
    return ++one->enabled, CUPTI_SUCCESS;
  };
  t.disable = [](CUpti_ActivityKind) { return --one->enabled, CUPTI_SUCCESS; };
  t.flush_all = [](std::uint32_t) {
    if (one->records.empty() && one->dropped == 0) return CUPTI_SUCCESS;
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0, used = 0;
    one->requested(&buffer, &size, &most);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 8, 0u);
    // get_next_record reads the number of records
    std::swap(one->records, *new (buffer) std::vector<std::vector<std::byte>>());
    used = sizeof(std::vector<std::vector<std::byte>>);
    one->completed(nullptr, 0, buffer, size, used);
    one->dropped = 0;
    return CUPTI_SUCCESS;
  };
  t.get_next_record = [](std::uint8_t* buffer, std::size_t, CUpti_Activity** record) {
    auto& left = *reinterpret_cast<std::vector<std::vector<std::byte>>*>(buffer);
    static thread_local std::vector<std::byte> current;
    if (left.empty()) {
      std::destroy_at(&left);
      return CUPTI_ERROR_MAX_LIMIT_REACHED;
    }
    current = left.front();
    left.erase(left.begin());
    *record = reinterpret_cast<CUpti_Activity*>(current.data());
    return CUPTI_SUCCESS;
  };
  t.get_num_dropped = [](CUcontext, std::uint32_t, std::size_t* n) { return *n = one->dropped, CUPTI_SUCCESS; };
  t.push_external = [](CUpti_ExternalCorrelationKind, std::uint64_t id) {
    return one->pushed.push_back(id), CUPTI_SUCCESS;
  };
  t.pop_external = [](CUpti_ExternalCorrelationKind, std::uint64_t* id) {
    return *id = one->pushed.back(), one->pushed.pop_back(), CUPTI_SUCCESS;
  };
  return t;
}

TEST(CuptiCollector, CollectsBetweenStartAndStop) {
  instrument::trace_buffer marked(100), into(100);
  fake f;
  f.clock = &marked;
  {
    cupti_collector collector(marked, 100, functions_of(f));
    EXPECT_EQ(f.subscribed, 1);
    EXPECT_EQ(f.enabled, 0) << "nothing is collected before start()";
    collector.start();
    EXPECT_EQ(f.enabled, 7);
    std::uint64_t id = 0;
    {
      auto const outer = collector.range("recon");
      auto const inner = collector.range("step");
      ASSERT_EQ(f.pushed.size(), 2u);
      id = f.pushed.back();
    }
    EXPECT_TRUE(f.pushed.empty());
    auto const now = static_cast<std::uint64_t>(marked.now()) + 1000;
    CUpti_ActivityExternalCorrelation e{};
    e.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, e.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
    e.externalId = id, e.correlationId = 31;
    f.put(hopper()), f.put(e), f.put(api(now, now + 5, 31)), f.put(kernel(now + 10, now + 90, 31)),
        f.put(copied(CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, 64));
    f.dropped = 3;
    collector.stop();
    EXPECT_EQ(f.enabled, 0);
    EXPECT_EQ(collector.records(), 3u) << "call, kernel, copy";
    collector.merge(marked, into);
  }
  EXPECT_EQ(f.subscribed, 0);
  EXPECT_EQ(into.dropped(), 3u);
  int kernels = 0;
  for (auto const& e : into.events()) {
    if (e.kind == event_kind::launch) {
      EXPECT_STREQ(e.detail, "range:step") << "the innermost";
    }
    if (e.kind != event_kind::kernel) continue;
    ++kernels;
    EXPECT_EQ(e.end - e.begin, 80);
    EXPECT_NE(std::string(e.detail).find("occ_pct:75"), std::string::npos) << e.detail;
  }
  EXPECT_EQ(kernels, 1);
}

TEST(CuptiCollector, KeepsNoMoreThanItHasRoomFor) {
  instrument::trace_buffer marked(100), into(100);
  fake f;
  f.clock = &marked;
  cupti_collector collector(marked, 2, functions_of(f));
  collector.start();
  for (std::uint32_t k = 0; k < 5; ++k) f.put(kernel(1000 + k, 1001 + k, k));
  collector.stop();
  collector.merge(marked, into);
  EXPECT_EQ(collector.records(), 2u);
  EXPECT_EQ(into.dropped(), 3u);
}

std::string why_not(cupti_functions const& functions) {
  instrument::trace_buffer trace(10);
  try {
    cupti_collector const collector(trace, 10, functions);
  } catch (cupti_unavailable const& e) {
    return e.what();
  }
  return "";
}

TEST(CuptiCollector, SaysWhyItCannotBeUsed) {
  fake busy;
  busy.other = "CUPTI for Nsight Systems";
  EXPECT_NE(why_not(functions_of(busy)).find("another tool uses CUPTI: CUPTI for Nsight Systems"), std::string::npos);
  fake no_device;
  no_device.enabling = CUPTI_ERROR_UNKNOWN;
  EXPECT_NE(why_not(functions_of(no_device)).find("cuptiActivityEnable: CUPTI_ERROR_UNKNOWN (999)"), std::string::npos);
  EXPECT_EQ(no_device.enabled, 0) << "what was enabled is disabled";
  EXPECT_EQ(no_device.subscribed, 0);
}

TEST(CuptiCollector, ThereIsOneAtATime) {
  instrument::trace_buffer trace(10);
  fake f;
  f.clock = &trace;
  std::optional<cupti_collector> first(std::in_place, trace, 10, functions_of(f));
  EXPECT_NE(why_not(functions_of(f)).find("another collector"), std::string::npos);
  first.reset();
  EXPECT_EQ(why_not(functions_of(f)), "");
}

TEST(CuptiLibrary, IsUsableOrSaysWhyNot) {
  cupti_functions real;
  try {
    real = load_cupti();  // either all functions are found, or one line names the missing one
  } catch (cupti_unavailable const& e) {
    EXPECT_NE(std::string(e.what()).find("libcupti"), std::string::npos) << e.what();
    GTEST_SKIP() << e.what();
  }
  auto const reason = why_not(real);
  std::cout << (reason.empty() ? "CUPTI can be used here" : reason) << '\n';
  EXPECT_TRUE(reason.empty() || reason.find("cupti") != std::string::npos) << reason;
}

}  // namespace
