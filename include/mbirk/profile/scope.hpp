// What a user's own code leaves on a trace: spans of blocks, memory, samples. They mix with what instrument::tracing writes to the same buffer.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

#include "mbirk/instrument/trace.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "mbirk/profile/sample.hpp"

namespace mbirk::profile {

/// Where events go: a trace_buffer, a session, a periodic_capture (which records now and then), or nowhere. They must outlive it.
class sink {
 public:
  sink() = default;
  sink(instrument::trace_buffer& into) noexcept : fixed_(&into) {}
  /// Where the pointer points when an event happens; nowhere while it is null.
  explicit sink(instrument::trace_buffer* const* changing) noexcept : changing_(changing) {}
  instrument::trace_buffer* get() const noexcept { return changing_ ? *changing_ : fixed_; }

 private:
  instrument::trace_buffer* fixed_ = nullptr;
  instrument::trace_buffer* const* changing_ = nullptr;
};

/// What the author says that a block does; 0 when not said.
struct span_info {
  index_t items = 0;
  index_t bytes = 0, flops = 0;  ///< moved and computed
};

/// The block that it stands in, as a span: `profile::scope timed(session, "forward", {.items = n});`. A scope inside another of the same thread and trace is a
/// stage of it. Costs two readings of the clock and an event; a comparison when nothing records.
class scope {
 public:
  /// @param name  lives as long as the trace: a literal; a std::string is copied.
  scope(sink into, char const* name, span_info info = {}) : scope(into.get(), name, info) {}
  scope(sink into, std::string const& name, span_info info = {}) : scope(into.get(), into.get() ? into.get()->text(name) : "", info) {}
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
    event_ = {name, same ? event_kind::stage : event_kind::operation, 0, 0, info.items, into_->track(), info.bytes, info.flops};
    innermost() = this;
    event_.begin = into_->now();
  }
  /// The scope that the calling thread opened last.
  static scope*& innermost() noexcept {
    thread_local scope* last = nullptr;
    return last;
  }

  instrument::trace_buffer* into_;
  scope* outer_ = nullptr;
  instrument::trace_event event_{};
};

/// Memory of the user's own that comes or goes; it counts with mbirk's temporaries to the live bytes. @param name  lives as long as the trace.
inline void note_allocation(sink into, char const* name, index_t bytes) {
  if (auto* const trace = into.get()) instrument::tracing(*trace).allocated(name, bytes);
}
inline void note_release(sink into, char const* name, index_t bytes) {
  if (auto* const trace = into.get()) instrument::tracing(*trace).released(name, bytes);
}

/// A point of a counter, e.g. a loss. Its event has the nearest integer as value, and the number itself as text where it is none: sample_value() reads it.
inline void sample(sink into, char const* name, double value) {
  auto* const trace = into.get();
  if (!trace) return;
  bool const small = std::abs(value) < 9007199254740992.0;  // 2^53; false for what is not a number
  auto const nearest = static_cast<index_t>(small ? std::llround(value) : 0);
  char const* text = nullptr;
  if (!small || static_cast<double>(nearest) != value) {
    if (trace->events().size() == trace->capacity()) return trace->lost();  // or texts would grow without bound
    char digits[32];
    text = trace->text({digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, value).ptr - digits)});
  }
  auto const t = trace->now();
  trace->add({name, instrument::event_kind::counter, t, t, nearest, trace->track(), 0, 0, 0, text});
}

}  // namespace mbirk::profile
