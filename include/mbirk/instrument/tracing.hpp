// The tracing policy: spans of operations, stages, kernels and threads, copies, and the live bytes of temporaries, in a
// trace_buffer. Device kernels are timed by marks in their stream; their events are available after
// trace_buffer::finish().
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/exec/concepts.hpp"
#include "mbirk/instrument/concepts.hpp"
#include "mbirk/instrument/trace.hpp"

namespace mbirk::instrument {

namespace detail {

/// Launch details in XProf's format, "regs:40 static_shared:0 dynamic_shared:4096 grid:512,1,1 block:256,1,1
/// occ_pct:75"; unknown values are omitted.
inline std::string launch_text(kernel_info const& k) {
  auto const three = [](index3 n) {
    return std::to_string(n.x) + ',' + std::to_string(n.y) + ',' + std::to_string(n.z);
  };
  std::string text;
  if (k.registers > 0) text += "regs:" + std::to_string(k.registers) + ' ';
  text += "static_shared:" + std::to_string(k.shared_bytes) + " dynamic_shared:0 grid:" + three(k.grid) +
          " block:" + std::to_string(k.threads) + ",1,1";
  if (k.occupancy > 0) text += " occ_pct:" + std::to_string(k.occupancy);
  return text;
}

}  // namespace detail

class tracing {
 public:
  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "tracing";
  static constexpr instrumentation_traits traits{.observes_kernels = true, .observes_copies = true};
  template <class Native> using backend = Native;  // uses the kernels of `none`

  /// @param into  buffer that receives the events; must outlive the policy.
  explicit tracing(trace_buffer& into) noexcept : into_(&into) {}

  class guard {
   public:
    guard(trace_buffer& into, trace_event const& event) noexcept : into_(into), event_(event) {}
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
  [[nodiscard]] guard scope(op_info op) const {
    return {*into_, {op.name, event_kind::operation, into_->now(), 0, op.items, into_->track(), op.bytes, op.flops}};
  }
  [[nodiscard]] guard stage(char const* what) const {
    return {*into_, {what, event_kind::stage, into_->now(), 0, 0, into_->track()}};
  }
  void allocated(char const* what, index_t bytes) const { note_memory(what, bytes); }
  void released(char const* what, index_t bytes) const { note_memory(what, -bytes); }

  /// Span of a kernel on the host, with one span per participating thread. The end of a thread's span is exact to about
  /// 20 us when tasks are shorter than that: reading the clock after every task would cost more than the rest of
  /// tracing.
  class host_kernel {
   public:
    host_kernel(trace_buffer& into, kernel_info const& k, int workers)
        : into_(into),
          event_{k.name, event_kind::kernel, 0, 0, k.tasks, into.track()},
          shares_(static_cast<std::size_t>(workers)) {
      event_.begin = into.now();
    }
    ~host_kernel() {
      event_.end = into_.now();
      for (std::size_t w = 0; w < shares_.size(); ++w) {
        auto const& s = shares_[w];
        if (s.tasks == 0) continue;
        auto const end = std::min(event_.end, s.read + (s.tasks - s.tasks_read) * s.each);
        try {
          auto const track = into_.track(track_kind::worker, static_cast<int>(w));
          into_.add({event_.name, event_kind::worker, event_.begin, end, s.tasks, track});
        } catch (std::exception const&) {  // no memory for the track of a new worker
          into_.lost();
        }
      }
      into_.add(event_);
    }
    host_kernel(host_kernel const&) = delete;
    host_kernel& operator=(host_kernel const&) = delete;

    bool observes_tasks() const noexcept { return true; }
    /// Called after each finished task of the kernel.
    void task_done(int worker) noexcept {
      auto& mine = shares_[static_cast<std::size_t>(worker)];
      if (++mine.tasks < mine.next) return;
      auto const now = into_.now(), took = now - (mine.tasks_read > 0 ? mine.read : event_.begin);
      auto const tasks = mine.tasks - mine.tasks_read;
      mine.read = now;
      mine.tasks_read = mine.tasks;
      mine.each = took / tasks;
      mine.next = mine.tasks + std::clamp<index_t>(interval * tasks / std::max<index_t>(took, 1), 1, 2 * tasks);
    }

   private:
    /// Target in ns between two clock reads, assuming tasks of constant length.
    static constexpr index_t interval = 20'000;
    struct alignas(64) share {
      index_t tasks = 0, next = 1;  ///< tasks done; number of tasks at the next clock read
      std::int64_t read = 0;        ///< time of the last clock read
      index_t tasks_read = 0;       ///< tasks done at that time
      std::int64_t each = 0;        ///< ns per task before that
    };
    trace_buffer& into_;
    trace_event event_;
    std::vector<share> shares_;
  };

  /// Work queued on a device: the call on the thread's track, and the execution between two marks of the stream.
  template <class Exec> class queued {
   public:
    queued(trace_buffer& into, Exec const& exec, trace_event const& what) : into_(into), exec_(exec), event_(what) {
      event_.id = into.new_id();
      call_ = {what.name, event_kind::launch, 0, 0, what.value, into.track(), what.bytes, 0, event_.id};
      try {
        clock_.emplace(into.clock_of(exec));
        begin_.emplace(exec.timestamp());
      } catch (std::exception const&) {
        into.lost();
      }
      call_.begin = into.now();
    }
    ~queued() {
      call_.end = into_.now();
      into_.add(call_);
      if (!begin_) return;
      try {
        into_.later(
            [&into = into_, clock = *clock_, begin = *begin_, end = exec_.timestamp(), event = event_]() mutable {
              event.track = clock.track;
              event.begin = clock.time(begin);
              event.end = std::max(event.begin, clock.time(end));
              into.add(event);
            });
      } catch (std::exception const&) {
        into_.lost();
      }
    }
    queued(queued const&) = delete;
    queued& operator=(queued const&) = delete;

   private:
    trace_buffer& into_;
    Exec exec_;
    trace_event event_, call_{};
    std::optional<trace_buffer::stream_clock<Exec>> clock_;
    std::optional<typename Exec::mark> begin_;
  };

  template <class Exec> [[nodiscard]] auto kernel(Exec const& exec, kernel_info const& k) const {
    if constexpr (block_policy<Exec>)
      return queued<Exec>(*into_, exec,
                          {k.name, event_kind::kernel, 0, 0, k.tasks, 0, 0, 0, 0,
                           into_->text(detail::launch_text(k.described(&exec)))});
    else return host_kernel(*into_, k, k.workers);
  }
  /// @param what  "MemcpyHtoD", "MemcpyDtoH", "MemcpyDtoD" or "Memset"
  template <block_policy Exec>
  [[nodiscard]] queued<Exec> copy(Exec const& exec, char const* what, index_t bytes) const {
    return {*into_, exec, {what, event_kind::copy, 0, 0, 0, 0, bytes}};
  }

 private:
  void note_memory(char const* what, index_t change) const {
    index_t const live = into_->live_bytes += change;
    auto const t = into_->now();
    into_->add({what, event_kind::memory, t, t, live, into_->track(), change});
  }

  trace_buffer* into_;
};

static_assert(instrumentation_policy<tracing>);

}  // namespace mbirk::instrument
