// CUPTI's activity records as values, and these values as events of a trace. Nothing here calls CUPTI, so tests can
// fill in records by hand. The record types are those of the CUDA 13 header that is compiled against.
#pragma once

#include <cuda_occupancy.h>
#include <cupti.h>
#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mbirk/instrument/trace.hpp"

namespace mbirk::profile {

enum class cupti_kind : std::uint8_t { kernel, copy, call, memory };

/// An activity of the device or the runtime. Times are in nanoseconds of CUPTI's clock.
struct cupti_activity {
  cupti_kind kind;
  std::string name = {};     ///< demangled name of a kernel; "MemcpyHtoD"; "cudaLaunchKernel_v7000" for a call
  std::uint64_t begin = 0, end = 0;
  std::uint32_t correlation = 0;  ///< shared by a call and the activities it caused
  std::uint32_t device = 0, stream = 0;
  std::int64_t bytes = 0;    ///< size of a copy; change of memory, negative when released
  /// For a kernel: "regs:40 static_shared:0 dynamic_shared:4096 grid:512,1,1 block:256,1,1 occ_pct:75".
  std::string detail = {};
};

/// Converts times of CUPTI to the clock of a trace by an offset and a scale for which two pairs of readings agree.
struct cupti_clock {
  struct pair { std::uint64_t cupti = 0; std::int64_t trace = 0; };
  pair first{}, last{};
  std::int64_t operator()(std::uint64_t time) const noexcept {
    auto const since = static_cast<std::int64_t>(time - first.cupti),
               between = static_cast<std::int64_t>(last.cupti - first.cupti);
    auto const drift = (last.trace - first.trace) - between;
    auto const moved = between > 0 ? static_cast<std::int64_t>(static_cast<double>(drift) * static_cast<double>(since) /
                                                               static_cast<double>(between))
                                   : 0;
    return first.trace + since + moved;
  }
};

/// Occupancy in percent: share of a multiprocessor's warps that are resident when only this kernel runs there; 0 if the
/// device is unknown.
inline int cupti_occupancy(CUpti_ActivityKernel10 const& k, CUpti_ActivityDevice5 const& d) {
  constexpr std::uint32_t reserved = 1024;  // shared memory per block reserved by the system, from capability 8.0 on
  auto const number = [](auto n) { return static_cast<int>(n); };
  cudaOccDeviceProp device;
  device.computeMajor = number(d.computeCapabilityMajor);
  device.computeMinor = number(d.computeCapabilityMinor);
  device.warpSize = number(d.numThreadsPerWarp);
  device.maxThreadsPerBlock = number(d.maxThreadsPerBlock);
  device.maxThreadsPerMultiprocessor = number(d.maxWarpsPerMultiprocessor * d.numThreadsPerWarp);
  device.regsPerBlock = number(d.maxRegistersPerBlock);
  device.regsPerMultiprocessor = number(d.maxRegistersPerMultiprocessor);
  device.sharedMemPerBlock = d.maxSharedMemoryPerBlock;
  device.sharedMemPerMultiprocessor = d.maxSharedMemoryPerMultiprocessor;
  device.numSms = number(d.numMultiprocessors);
  device.reservedSharedMemPerBlock = d.computeCapabilityMajor >= 8 ? reserved : 0;
  device.sharedMemPerBlockOptin = d.maxSharedMemoryPerMultiprocessor - device.reservedSharedMemPerBlock;
  cudaOccFuncAttributes kernel;
  auto const dynamic = static_cast<std::size_t>(k.dynamicSharedMemory);
  kernel.maxThreadsPerBlock = device.maxThreadsPerBlock;
  kernel.numRegs = k.registersPerThread;
  kernel.numBlockBarriers = 1;
  kernel.sharedSizeBytes = static_cast<std::size_t>(k.staticSharedMemory);
  kernel.maxDynamicSharedSizeBytes = dynamic;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  cudaOccDeviceState const state;
  cudaOccResult result;
  int const threads = k.blockX * k.blockY * k.blockZ;
  if (threads < 1 ||
      cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads, dynamic) != CUDA_OCC_SUCCESS)
    return 0;
  int const warps = (threads + device.warpSize - 1) / device.warpSize;
  return 100 * result.activeBlocksPerMultiprocessor * warps / number(d.maxWarpsPerMultiprocessor);
}

inline std::string demangled(char const* name) {
  if (!name) return "kernel";
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> const text(abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 && text ? text.get() : name;
}

/// @param device  null if unknown: occ_pct is then omitted.
inline cupti_activity activity_of(CUpti_ActivityKernel10 const& k, CUpti_ActivityDevice5 const* device = nullptr) {
  auto const three = [](int x, int y, int z) {
    return std::to_string(x) + ',' + std::to_string(y) + ',' + std::to_string(z);
  };
  std::string text = "regs:" + std::to_string(k.registersPerThread) +
                     " static_shared:" + std::to_string(k.staticSharedMemory) +
                     " dynamic_shared:" + std::to_string(k.dynamicSharedMemory) +
                     " grid:" + three(k.gridX, k.gridY, k.gridZ) + " block:" + three(k.blockX, k.blockY, k.blockZ);
  if (int const occupancy = device ? cupti_occupancy(k, *device) : 0; occupancy > 0)
    text += " occ_pct:" + std::to_string(occupancy);
  return {cupti_kind::kernel, demangled(k.name), k.start, k.end, k.correlationId, k.deviceId, k.streamId, 0, text};
}
/// CUDA arrays (textures) count as device memory here.
inline cupti_activity activity_of(CUpti_ActivityMemcpy6 const& m) {
  auto const name = [&] {
    switch (m.copyKind) {
      case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA: return "MemcpyHtoD";
      case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH: return "MemcpyDtoH";
      case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH: return "MemcpyHtoH";
      case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP: return "MemcpyPtoP";
      default: return "MemcpyDtoD";
    }
  };
  return {cupti_kind::copy, name(),     m.start,    m.end,
          m.correlationId,  m.deviceId, m.streamId, static_cast<std::int64_t>(m.bytes)};
}
inline cupti_activity activity_of(CUpti_ActivityMemset4 const& m) {
  return {cupti_kind::copy, "Memset",   m.start,    m.end,
          m.correlationId,  m.deviceId, m.streamId, static_cast<std::int64_t>(m.bytes)};
}
inline cupti_activity activity_of(CUpti_ActivityAPI const& call, std::string name) {
  return {cupti_kind::call, std::move(name), call.start, call.end, call.correlationId};
}
/// Changes of device memory; host allocations count 0 bytes.
inline cupti_activity activity_of(CUpti_ActivityMemory4 const& m) {
  auto const bytes = m.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE ? static_cast<std::int64_t>(m.bytes) : 0;
  bool const released = m.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  return {cupti_kind::memory, "device memory", m.timestamp, m.timestamp,
          m.correlationId,    m.deviceId,      m.streamId,  released ? -bytes : bytes};
}

/// A range in which calls were made: its name, and the track of the thread that opened it.
struct cupti_range_info {
  std::string name;
  std::int32_t track;
};
struct cupti_ranges {
  std::map<std::uint64_t, cupti_range_info> ranges;  ///< keyed by pushed id
  std::map<std::uint32_t, std::uint64_t> of_call;    ///< innermost range of each call, by correlation id
};

namespace detail {

/// Rows of streams: activities that overlap on one stream, as nodes of a graph may, are placed in separate rows.
class stream_rows {
 public:
  explicit stream_rows(instrument::trace_buffer& of) : of_(of) {
    for (auto const& t : of.tracks()) rows_ += t.kind == instrument::track_kind::stream;
  }
  /// @param known  the row of the stream if a mark has named it, otherwise -1.
  std::int32_t row(std::uint32_t device, std::uint32_t stream, std::int32_t known, std::int64_t begin,
                   std::int64_t end) {
    auto& lanes = lanes_[{device, stream}];
    if (lanes.empty() && known >= 0) lanes.push_back({known, begin});
    auto lane = std::find_if(lanes.begin(), lanes.end(), [&](auto const& l) { return l.second <= begin; });
    if (lane == lanes.end()) lane = lanes.insert(lane, {of_.track(instrument::track_kind::stream, rows_++), begin});
    lane->second = end;
    return lane->first;
  }

 private:
  instrument::trace_buffer& of_;
  int rows_ = 0;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::pair<std::int32_t, std::int64_t>>> lanes_;
};

}  // namespace detail

/// Writes to the empty trace `into` the events that the tracing policy has left on `marked` (finished), with the
/// kernels and copies of devices as recorded by CUPTI. A kernel of mbirk keeps its name, id and tasks, because the call
/// that launched it lies within the time of a launch of `marked`. Other kernels, such as graph nodes, have the names
/// given by the compiler and a launch event for their call, whose detail is "range:<name>". A device event of `marked`
/// without a record is unchanged. Device allocations become a counter of bytes since the start.
inline void merge_cupti(instrument::trace_buffer const& marked, std::span<cupti_activity const> found,
                        cupti_ranges const& ranges, cupti_clock const& clock, instrument::trace_buffer& into) {
  using instrument::event_kind;
  using instrument::trace_event;
  auto const tracks = marked.tracks();
  for (auto const& t : tracks) into.track(t.kind, t.index);  // the same track indices
  auto const of_device = [&](trace_event const& e) {
    return (e.kind == event_kind::kernel || e.kind == event_kind::copy) &&
           tracks[static_cast<std::size_t>(e.track)].kind == instrument::track_kind::stream;
  };
  std::vector<trace_event const*> launches;
  std::map<std::uint64_t, trace_event const*> marks;
  std::uint64_t last_id = 0;
  for (auto const& e : marked.events()) {
    last_id = std::max(last_id, e.id);
    if (e.kind == event_kind::launch) launches.push_back(&e);
    else if (of_device(e)) marks[e.id] = &e;
  }
  std::ranges::sort(launches, {}, [](auto const* e) { return e->begin; });

  struct cause { trace_event const* launch = nullptr; cupti_activity const* call = nullptr; };
  std::map<std::uint32_t, cause> causes;
  for (auto const& a : found) {
    if (a.kind != cupti_kind::call) continue;
    auto const begin = clock(a.begin);
    auto const after = std::ranges::upper_bound(launches, begin, {}, [](auto const* e) { return e->begin; });
    bool const inside = after != launches.begin() && begin <= (*std::prev(after))->end;
    causes[a.correlation] = {inside ? *std::prev(after) : nullptr, &a};
  }

  std::vector<cupti_activity const*> ordered;
  for (auto const& a : found) ordered.push_back(&a);
  std::ranges::sort(ordered, {}, [](auto const* a) { return std::pair(a->begin, a->correlation); });
  profile::detail::stream_rows rows(into);
  std::map<std::uint32_t, std::uint64_t> ids;  // calls without a mark
  std::set<std::uint64_t> seen;                // launches that have a record
  std::int64_t live = 0;
  for (auto const* a : ordered) {
    auto const begin = clock(a->begin), end = std::max(begin, clock(a->end));
    if (a->kind == cupti_kind::call) continue;
    if (a->kind == cupti_kind::memory) {
      live += a->bytes;
      if (a->bytes != 0) into.add({into.text(a->name), event_kind::counter, begin, begin, live});
      continue;
    }
    auto const found_cause = causes.find(a->correlation);
    auto const why = found_cause == causes.end() ? cause{} : found_cause->second;
    auto const kind = a->kind == cupti_kind::kernel ? event_kind::kernel : event_kind::copy;
    trace_event e{into.text(a->name), kind, begin, end, 0, 0, a->bytes};
    std::int32_t known = -1;
    auto detail = a->detail;
    if (why.launch) {
      e.id = why.launch->id;
      if (auto const mark = marks.find(e.id); mark != marks.end()) {
        known = mark->second->track;
        std::string_view const marked_detail = mark->second->detail ? mark->second->detail : "";
        auto const occupancy = marked_detail.find(" occ_pct:");  // the device itself may have no record
        if (occupancy != marked_detail.npos && detail.find("occ_pct:") == detail.npos)
          detail += marked_detail.substr(occupancy);
      }
      // If a launch has several records, the first one takes its name.
      if (seen.insert(e.id).second) {
        e.name = into.text(why.launch->name);
        e.value = why.launch->value;
      }
    } else if (why.call) {
      auto& id = ids[a->correlation];
      if (id == 0) {
        id = last_id + into.new_id();
        trace_event call{into.text(why.call->name), event_kind::launch, clock(why.call->begin), clock(why.call->end)};
        call.id = id;
        auto const range = ranges.of_call.find(a->correlation);
        auto const info = range == ranges.of_call.end() ? ranges.ranges.end() : ranges.ranges.find(range->second);
        if (info != ranges.ranges.end()) {
          call.track = info->second.track;
          call.detail = into.text("range:" + info->second.name);
        } else
          call.track = into.track();
        into.add(call);
      }
      e.id = id;
    }
    e.track = rows.row(a->device, a->stream, known, begin, end);
    if (!detail.empty()) e.detail = into.text(detail);
    into.add(e);
  }
  for (auto e : marked.events()) {
    if (of_device(e) && seen.contains(e.id)) continue;
    e.name = into.text(e.name);
    if (e.detail) e.detail = into.text(e.detail);
    into.add(e);
  }
  for (std::uint64_t k = 0; k < marked.dropped(); ++k) into.lost();
}

}  // namespace mbirk::profile
