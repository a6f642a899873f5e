// The tracing policy: spans of operations and stages, and the live bytes of temporaries, on a buffer of fixed size that counts what it drops.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "mbirk/instrument/concepts.hpp"

namespace mbirk::instrument {

enum class event_kind : std::uint8_t { operation, stage, memory };

/// Times in nanoseconds since the buffer was made, from the monotonic clock.
struct trace_event {
  char const* name;
  event_kind kind;
  std::int64_t begin, end;  ///< equal for memory
  index_t value;            ///< work items of an operation; live bytes after a change of memory
};

/// Room for a fixed number of events. Any thread may write; read it when nobody does.
class trace_buffer {
 public:
  explicit trace_buffer(std::size_t capacity) : events_(capacity), origin_(std::chrono::steady_clock::now()) {}

  std::int64_t now() const noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - origin_).count();
  }
  void add(trace_event const& e) noexcept {
    auto const at = next_.fetch_add(1, std::memory_order_relaxed);
    if (at < events_.size()) events_[at] = e;
  }
  std::span<trace_event const> events() const noexcept { return {events_.data(), std::min(events_.size(), next_.load())}; }
  std::uint64_t dropped() const noexcept {
    auto const n = next_.load();
    return n > events_.size() ? n - events_.size() : 0;
  }
  void clear() noexcept { next_ = 0; }

  std::atomic<index_t> live_bytes{0};

 private:
  std::vector<trace_event> events_;
  std::atomic<std::uint64_t> next_{0};
  std::chrono::steady_clock::time_point origin_;
};

class tracing {
 public:
  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "tracing";
  static constexpr bool serial = false, dataless = false;
  template <class Native> using backend = Native;  // the kernels of `none`

  /// Events go to `into`, which must outlive the policy.
  explicit tracing(trace_buffer& into) noexcept : into_(&into) {}

  class guard {
   public:
    guard(trace_buffer& into, char const* what, event_kind kind, index_t items) noexcept : into_(into), event_{what, kind, into.now(), 0, items} {}
    ~guard() {
      event_.end = into_.now();
      into_.add(event_);
    }
    guard(guard const&) = delete;
    guard& operator=(guard const&) = delete;

   private:
    trace_buffer& into_;
    trace_event event_;
  };
  [[nodiscard]] guard scope(op_info op) const noexcept { return {*into_, op.name, event_kind::operation, op.items}; }
  [[nodiscard]] guard stage(char const* what) const noexcept { return {*into_, what, event_kind::stage, 0}; }
  void allocated(char const* what, index_t bytes) const noexcept { note_memory(what, bytes); }
  void released(char const* what, index_t bytes) const noexcept { note_memory(what, -bytes); }

 private:
  void note_memory(char const* what, index_t change) const noexcept {
    index_t const live = into_->live_bytes += change;
    auto const t = into_->now();
    into_->add({what, event_kind::memory, t, t, live});
  }

  trace_buffer* into_;
};

static_assert(instrumentation_policy<tracing>);

}  // namespace mbirk::instrument
