// The trace of a profile: marks in the stream or, if requested and available, CUPTI's records.
#pragma once

#include <memory>
#include <string>

#include "mbirk/instrument/trace.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

class device_trace {
 public:
  /// With `cupti`, if CUPTI is unavailable, marks are used and note() says why.
  device_trace(std::size_t capacity, bool cupti);
  ~device_trace();

  /// Destination of a traced run's events.
  instrument::trace_buffer& marks() noexcept { return marks_; }
  /// Makes the call in a range of this name.
  call_cost traced(std::string const& name, std::function<call_cost()> const& call);
  /// All events, including those of devices; complete after tracing has ended.
  instrument::trace_buffer const& finished();

  bool has_cupti() const noexcept { return collector_ != nullptr; }
  /// Reason why CUPTI is unavailable; empty if it is available or was not requested.
  std::string const& note() const noexcept { return note_; }

 private:
  struct collector;
  instrument::trace_buffer marks_, merged_;
  std::unique_ptr<collector> collector_;
  std::string note_;
};

}  // namespace mbirk::program
