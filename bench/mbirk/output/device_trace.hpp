// The trace of a profile: marks in the stream, or where it is asked for and can be had CUPTI's records.
#pragma once

#include <memory>
#include <string>

#include "mbirk/instrument/trace.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

class device_trace {
 public:
  /// With `cupti` and without CUPTI it goes on with marks, and note() says why.
  device_trace(std::size_t capacity, bool cupti);
  ~device_trace();

  /// What a traced run writes to.
  instrument::trace_buffer& marks() noexcept { return marks_; }
  /// Makes the call, in a range of this name.
  call_cost traced(std::string const& name, std::function<call_cost()> const& call);
  /// All events, those of devices too: complete when nothing is traced any more.
  instrument::trace_buffer const& finished();

  bool has_cupti() const noexcept { return collector_ != nullptr; }
  /// Why there is no CUPTI; empty where there is, or where it was not asked for.
  std::string const& note() const noexcept { return note_; }

 private:
  struct collector;
  instrument::trace_buffer marks_, merged_;
  std::unique_ptr<collector> collector_;
  std::string note_;
};

}  // namespace mbirk::program
