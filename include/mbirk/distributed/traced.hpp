// Records when a rank sends and waits: an instrumentation of any communicator.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "mbirk/distributed/communicator.hpp"
#include "mbirk/instrument/trace.hpp"

namespace mbirk::distributed {

/// Whether a span of a trace is one of `traced` below, by its name.
inline bool is_message(std::string_view span) {
  constexpr std::array<std::string_view, 7> calls{"gather ", "broadcast ", "exchange ", "wait for ",
                                                  "reduce ", "send ",      "receive "};
  return std::ranges::any_of(calls, [&](std::string_view call) { return span.starts_with(call); });
}

/// A communicator whose calls are spans of a trace, with the bytes that the rank hands to the engine: "gather
/// direction", "send parts of the back projection", "wait for boundaries of a subset". So every message is found at the
/// subset that it belongs to. Refers to both arguments.
template <communicator C> class traced {
  class span {
   public:
    span(traced const& of, char const* call, char const* what, std::size_t bytes) : of_(of) {
      auto* const into = of.into_;
      if (!into) return;
      event_ = {into->text(std::string(call) + ' ' + what), instrument::event_kind::stage, into->now(), 0, 0,
                into->track(), static_cast<index_t>(bytes)};
    }
    ~span() {
      if (!of_.into_) return;
      event_.end = of_.into_->now();
      of_.into_->add(event_);
      of_.nanoseconds_ += event_.end - event_.begin;
    }
    span(span const&) = delete;
    span& operator=(span const&) = delete;

   private:
    traced const& of_;
    instrument::trace_event event_{};
  };

 public:
  /// @param into  receives the spans; null: nothing is recorded
  traced(C const& inner, instrument::trace_buffer* into) : inner_(inner), into_(into) {}

  int rank() const noexcept { return inner_.rank(); }
  int size() const noexcept { return inner_.size(); }
  void all_gather(char const* what, std::span<std::byte const> mine, std::span<index_t const> bytes,
                  std::span<std::byte> all) const {
    span const here(*this, "gather", what, mine.size());
    inner_.all_gather(what, mine, bytes, all);
  }
  void broadcast(char const* what, std::span<std::byte> data, int root) const {
    span const here(*this, "broadcast", what, rank() == root ? data.size() : 0);
    inner_.broadcast(what, data, root);
  }
  /// Messages under way.
  template <class Pending> class pending_exchange {
   public:
    pending_exchange(Pending pending, traced const& of, char const* what)
        : pending_(std::move(pending)), of_(of), what_(what) {}
    void wait() {
      span const here(of_, "wait for", what_, 0);
      pending_.wait();
    }

   private:
    Pending pending_;
    traced const& of_;
    char const* what_;
  };
  auto start_exchange(char const* what, neighbour_exchange const& e) const {
    span const here(*this, "exchange", what, e.to_below.size() + e.to_above.size());
    return pending_exchange(inner_.start_exchange(what, e), *this, what);
  }
  void all_reduce(char const* what, std::span<std::int64_t> values, reduction r) const {
    span const here(*this, "reduce", what, values.size_bytes());
    inner_.all_reduce(what, values, r);
  }
  void send(char const* what, std::span<std::byte const> data, int to) const {
    span const here(*this, "send", what, data.size());
    inner_.send(what, data, to);
  }
  void receive(char const* what, std::span<std::byte> data, int from) const {
    span const here(*this, "receive", what, 0);
    inner_.receive(what, data, from);
  }
  /// Time in calls so far, waiting included; 0 unless they are recorded.
  std::int64_t nanoseconds() const noexcept { return nanoseconds_; }

 private:
  C const& inner_;
  instrument::trace_buffer* into_;
  mutable std::int64_t nanoseconds_ = 0;
};

}  // namespace mbirk::distributed
