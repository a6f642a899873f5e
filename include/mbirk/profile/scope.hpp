// Events from user code on a trace: spans of blocks, memory, samples. They share the buffer with the events of
// instrument::tracing.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include "mbirk/instrument/trace.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "mbirk/profile/sample.hpp"

namespace mbirk::profile {

/// Destination of events: a trace_buffer, a session, a periodic_capture (which records intermittently), or none. The
/// destination must outlive the sink.
class sink {
 public:
  sink() = default;
  sink(instrument::trace_buffer& into) noexcept : fixed_(&into) {}
  /// Uses the buffer that the pointer refers to at the time of each event; none while it is null.
  explicit sink(instrument::trace_buffer* const* changing) noexcept : changing_(changing) {}
  instrument::trace_buffer* get() const noexcept { return changing_ ? *changing_ : fixed_; }

 private:
  instrument::trace_buffer* fixed_ = nullptr;
  instrument::trace_buffer* const* changing_ = nullptr;
};

/// Work done by a block, as stated by its author; 0 if not stated.
struct span_info {
  index_t items = 0;
  index_t bytes = 0, flops = 0;  ///< moved and computed by the block
};

/// Records the enclosing block as a span: `profile::scope timed(session, "forward", {.items = n});`. A scope inside
/// another one of the same thread and trace is a stage of it. Costs two clock readings and one event; a comparison when
/// nothing records.
class scope {
 public:
  /// @param name  must outlive the trace, like a literal; a std::string is copied.
  scope(sink into, char const* name, span_info info = {}) : scope(into.get(), name, info) {}
  scope(sink into, std::string const& name, span_info info = {})
      : scope(into.get(), into.get() ? into.get()->text(name) : "", info) {}
  ~scope() {
    if (!into_) return;
    event_.end = into_->now();
    into_->add(event_);
    for (scope** at = &innermost(); *at; at = &(*at)->outer_)
      if (*at == this) {
        *at = outer_;
        break;
      }
  }
  scope(scope const&) = delete;
  scope& operator=(scope const&) = delete;

 private:
  scope(instrument::trace_buffer* into, char const* name, span_info info) : into_(into) {
    if (!into_) return;
    outer_ = innermost();
    auto const* same = outer_;
    while (same && same->into_ != into_) same = same->outer_;
    using instrument::event_kind;
    event_ = {name,      same ? event_kind::stage : event_kind::operation, 0, 0, info.items, into_->track(), info.bytes,
              info.flops};
    innermost() = this;
    event_.begin = into_->now();
  }
  /// The most recently opened scope of the calling thread.
  static scope*& innermost() noexcept {
    thread_local scope* last = nullptr;
    return last;
  }

  instrument::trace_buffer* into_;
  scope* outer_ = nullptr;
  instrument::trace_event event_{};
};

/// Records an allocation of user memory; its bytes count as live bytes, like those of mbirk's temporaries.
/// @param name  must outlive the trace.
inline void note_allocation(sink into, char const* name, index_t bytes) {
  if (auto* const trace = into.get()) instrument::tracing(*trace).allocated(name, bytes);
}
inline void note_release(sink into, char const* name, index_t bytes) {
  if (auto* const trace = into.get()) instrument::tracing(*trace).released(name, bytes);
}

/// Records a point of a counter, e.g. a loss. The event holds the nearest integer as value and, if the number is not an
/// integer, the number as text; sample_value() returns it.
inline void sample(sink into, char const* name, double value) {
  auto* const trace = into.get();
  if (!trace) return;
  bool const small = std::abs(value) < 9007199254740992.0;  // 2^53; false for NaN
  auto const nearest = static_cast<index_t>(small ? std::llround(value) : 0);
  char const* text = nullptr;
  if (!small || static_cast<double>(nearest) != value) {
    if (trace->events().size() == trace->capacity()) return trace->lost();  // texts would otherwise grow without bound
    char digits[32];
    text = trace->text(
        {digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr - digits)});
  }
  auto const t = trace->now();
  trace->add({name, instrument::event_kind::counter, t, t, nearest, trace->track(), 0, 0, 0, text});
}

}  // namespace mbirk::profile
