// Event buffer of a traced run, of fixed size, which counts the events it drops. Exporters (profile/) write it to
// files.
#pragma once

#include <algorithm>
#include <any>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "mbirk/core/index.hpp"

namespace mbirk::instrument {

enum class event_kind : std::uint8_t {
  operation,  ///< an operation of the library, or a step of the user's own program
  stage,      ///< a part of an operation
  /// One launch, where it runs: on the track of the launching thread (host) or on the track of its stream (device).
  kernel,
  launch,     ///< on the host: the call that queued a kernel or a copy on a device, with the id of both
  worker,     ///< a thread's share of a kernel on the host
  copy,       ///< a transfer: MemcpyHtoD, MemcpyDtoH, MemcpyDtoD, Memset
  memory,     ///< an allocation or a release
  counter,    ///< a sample of a counter
};

/// Event with times in nanoseconds since the buffer was created, from the monotonic clock; device times are converted
/// to it.
struct trace_event {
  char const* name;  ///< must live as long as the buffer: a literal, or trace_buffer::text()
  event_kind kind;
  std::int64_t begin, end;     ///< equal for memory and counters
  /// Work items of an operation, tasks of a kernel or worker, live bytes after a memory event, or a sample.
  index_t value = 0;
  std::int32_t track = 0;      ///< index in trace_buffer::tracks()
  /// Size of a copy; change of memory, negative when released; bytes moved by a span, as given by its author.
  index_t bytes = 0;
  index_t flops = 0;           ///< operations of a span, as given by its author
  std::uint64_t id = 0;        ///< shared by a launch and the event it queued; 0: none
  /// Block kernels only: "regs:40 static_shared:0 dynamic_shared:4096 grid:512,1,1 block:256,1,1 occ_pct:75".
  char const* detail = nullptr;
};

enum class track_kind : std::uint8_t { thread, worker, stream };

/// A row of the timeline: spans of one track are nested or disjoint.
struct trace_track {
  track_kind kind;
  int index;  ///< order of first appearance of threads and streams; number of a worker
  /// Name such as "thread 0", "worker 1" or "stream 0".
  std::string name() const {
    char const* const kinds[] = {"thread ", "worker ", "stream "};
    return kinds[static_cast<int>(kind)] + std::to_string(index);
  }
};

/// Buffer for a fixed number of events. Any thread may write; read it only while no thread writes, and after finish()
/// if a device was traced.
class trace_buffer {
 public:
  explicit trace_buffer(std::size_t capacity) : events_(capacity), origin_(std::chrono::steady_clock::now()) {}
  trace_buffer(trace_buffer const&) = delete;
  trace_buffer& operator=(trace_buffer const&) = delete;

  std::int64_t now() const noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - origin_).count();
  }
  void add(trace_event const& e) noexcept {
    auto const at = next_.fetch_add(1, std::memory_order_relaxed);
    if (at < events_.size()) events_[at] = e;
  }
  /// Counts an event that could not be recorded.
  void lost() noexcept { lost_.fetch_add(1, std::memory_order_relaxed); }

  std::span<trace_event const> events() const noexcept {
    return {events_.data(), std::min<std::size_t>(events_.size(), next_.load())};
  }
  std::uint64_t dropped() const noexcept {
    auto const n = next_.load();
    return lost_.load() + (n > events_.size() ? n - events_.size() : 0);
  }
  std::size_t capacity() const noexcept { return events_.size(); }
  void clear() {
    std::lock_guard const lock(mutex_);
    unresolved_.clear();
    next_ = 0;
    lost_ = 0;
  }

  /// Track of the calling thread.
  std::int32_t track() {
    thread_local struct {
      trace_buffer const* of;
      std::chrono::steady_clock::time_point origin;
      std::int32_t track;
    } mine{};
    if (mine.of == this && mine.origin == origin_) return mine.track;
    std::lock_guard const lock(mutex_);
    auto const me = std::this_thread::get_id();
    auto const known = std::find(threads_.begin(), threads_.end(), me);
    int const index = static_cast<int>(known - threads_.begin());
    if (known == threads_.end()) threads_.push_back(me);
    mine = {this, origin_, find_track(track_kind::thread, index)};
    return mine.track;
  }
  std::int32_t track(track_kind kind, int index) {
    std::lock_guard const lock(mutex_);
    return find_track(kind, index);
  }
  std::vector<trace_track> tracks() const {
    std::lock_guard const lock(mutex_);
    return tracks_;
  }

  /// Copy of the text that lives as long as the buffer.
  char const* text(std::string_view s) {
    std::lock_guard const lock(mutex_);
    return texts_.emplace(s).first->c_str();
  }
  std::uint64_t new_id() noexcept { return ids_.fetch_add(1, std::memory_order_relaxed) + 1; }

  /// Defers a device event, whose times are known only later: finish() calls `resolve`, which adds the event. It may
  /// throw.
  void later(std::function<void()> resolve) {
    std::lock_guard const lock(mutex_);
    if (unresolved_.size() < events_.size()) unresolved_.push_back(std::move(resolve));
    else lost();
  }
  /// Waits for the work queued on devices and adds its events. Events without an available time, e.g. because a graph
  /// captured them, count as dropped.
  void finish() {
    std::vector<std::function<void()>> unresolved;
    {
      std::lock_guard const lock(mutex_);
      unresolved.swap(unresolved_);
    }
    for (auto const& resolve : unresolved) try { resolve(); } catch (std::exception const&) { lost(); }
  }

  /// Converts a policy's stream time to the clock of the buffer.
  template <class Exec> struct stream_clock {
    Exec exec;
    typename Exec::mark zero;
    std::int64_t at;
    std::int32_t track;
    std::int64_t time(typename Exec::mark const& m) const {
      return at + static_cast<std::int64_t>(exec.seconds(zero, m) * 1e9);
    }
  };
  /// Clock of the policy's stream; waits for the stream on its first use here.
  template <class Exec> stream_clock<Exec> clock_of(Exec const& exec) {
    std::lock_guard const lock(mutex_);
    for (auto const& c : clocks_)
      if (auto const* found = std::any_cast<stream_clock<Exec>>(&c); found && found->exec.same_stream(exec))
        return *found;
    exec.wait();
    stream_clock<Exec> fresh{exec, exec.timestamp(), now(),
                             find_track(track_kind::stream, static_cast<int>(clocks_.size()))};
    clocks_.emplace_back(fresh);
    return fresh;
  }

  std::atomic<index_t> live_bytes{0};

 private:
  std::int32_t find_track(track_kind kind, int index) {
    auto const known =
        std::find_if(tracks_.begin(), tracks_.end(), [&](auto const& t) { return t.kind == kind && t.index == index; });
    if (known == tracks_.end()) {
      tracks_.push_back({kind, index});
      return static_cast<std::int32_t>(tracks_.size()) - 1;
    }
    return static_cast<std::int32_t>(known - tracks_.begin());
  }

  std::vector<trace_event> events_;
  std::atomic<std::uint64_t> next_{0}, lost_{0}, ids_{0};
  std::chrono::steady_clock::time_point origin_;
  mutable std::mutex mutex_;
  std::vector<trace_track> tracks_;
  std::vector<std::thread::id> threads_;
  std::set<std::string, std::less<>> texts_;
  std::vector<std::function<void()>> unresolved_;
  std::vector<std::any> clocks_;
};

}  // namespace mbirk::instrument
