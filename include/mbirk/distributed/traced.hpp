// Records when a rank sends and waits: an instrumentation of any communicator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "mbirk/distributed/communicator.hpp"
#include "mbirk/instrument/trace.hpp"

namespace mbirk::distributed {

/// What the names of spans begin with.
inline constexpr std::array<char const*, 7> message_calls{"gather ",  "broadcast ", "exchange ", "wait for ",
                                                          "reduce ", "send ",      "receive "};

/// A communicator whose calls are spans of a trace, with the bytes that the rank hands to the engine: "gather
/// direction", "send parts of the back projection", "wait for boundaries of a subset". So every message is found at the
/// subset that it belongs to. Refers to both arguments.
template <communicator C> class traced {
  class span {
   public:
    span(instrument::trace_buffer* into, char const* call, char const* what, std::size_t bytes) : into_(into) {
      if (!into) return;
      event_ = {into->text(std::string(call) + ' ' + what), instrument::event_kind::stage, into->now(), 0, 0,
                into->track(), static_cast<index_t>(bytes)};
    }
    ~span() {
      if (!into_) return;
      event_.end = into_->now();
      into_->add(event_);
    }
    span(span const&) = delete;
    span& operator=(span const&) = delete;

   private:
    instrument::trace_buffer* into_;
    instrument::trace_event event_{};
  };

 public:
  /// @param into  receives the spans; null: nothing is recorded
  traced(C const& inner, instrument::trace_buffer* into) : inner_(inner), into_(into) {}

  int rank() const noexcept { return inner_.rank(); }
  int size() const noexcept { return inner_.size(); }
  void all_gather(char const* what, std::span<std::byte const> mine, std::span<index_t const> bytes,
                  std::span<std::byte> all) const {
    span const here(into_, "gather", what, mine.size());
    inner_.all_gather(what, mine, bytes, all);
  }
  void broadcast(char const* what, std::span<std::byte> data, int root) const {
    span const here(into_, "broadcast", what, rank() == root ? data.size() : 0);
    inner_.broadcast(what, data, root);
  }
  /// Messages under way.
  template <class Pending> class pending_exchange {
   public:
    pending_exchange(Pending pending, instrument::trace_buffer* into, char const* what)
        : pending_(std::move(pending)), into_(into), what_(what) {}
    void wait() {
      span const here(into_, "wait for", what_, 0);
      pending_.wait();
    }

   private:
    Pending pending_;
    instrument::trace_buffer* into_;
    char const* what_;
  };
  auto start_exchange(char const* what, neighbour_exchange const& e) const {
    span const here(into_, "exchange", what, e.to_below.size() + e.to_above.size());
    return pending_exchange(inner_.start_exchange(what, e), into_, what);
  }
  void all_reduce(char const* what, std::span<std::int64_t> values, reduction r) const {
    span const here(into_, "reduce", what, values.size_bytes());
    inner_.all_reduce(what, values, r);
  }
  void send(char const* what, std::span<std::byte const> data, int to) const {
    span const here(into_, "send", what, data.size());
    inner_.send(what, data, to);
  }
  void receive(char const* what, std::span<std::byte> data, int from) const {
    span const here(into_, "receive", what, 0);
    inner_.receive(what, data, from);
  }

 private:
  C const& inner_;
  instrument::trace_buffer* into_;
};

}  // namespace mbirk::distributed
