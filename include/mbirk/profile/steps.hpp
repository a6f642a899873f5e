// The calls in a traced run: the outermost operations of each thread, with the kernels and temporaries of each.
// Exporters build on it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "mbirk/instrument/trace.hpp"

namespace mbirk::profile {

/// The smallest part of a step with its own time: a launch, or an operation or stage without recorded parts.
struct traced_kernel {
  instrument::trace_event event;  ///< for a device, the time on the device
  std::string stage;  ///< enclosing spans from the operation inwards, "iteration/subset/back", as used in counting
  std::string name;
  bool on_device = false;
};

/// A call of an outermost operation.
struct traced_step {
  instrument::trace_event operation;
  std::vector<traced_kernel> kernels;            ///< in the order of their launches
  std::vector<instrument::trace_event> memory;   ///< in order of time
};

namespace detail {

/// Sorts by begin, enclosing spans first. Spans are written when they end, so of two with the same times the later one
/// encloses the other.
inline std::vector<instrument::trace_event> nested_order(std::vector<instrument::trace_event> const& events) {
  std::vector<std::size_t> order(events.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    auto const &x = events[a], &y = events[b];
    if (x.begin != y.begin) return x.begin < y.begin;
    return x.end != y.end ? x.end > y.end : a > b;
  });
  std::vector<instrument::trace_event> sorted;
  for (auto const k : order) sorted.push_back(events[k]);
  return sorted;
}

/// Processes the spans of one thread, outer ones first, and maintains the stack of open spans.
class step_finder {
 public:
  /// Kernels by launch id; a graph has several kernels.
  using device_kernels = std::map<std::uint64_t, std::vector<instrument::trace_event>>;

  step_finder(device_kernels const& on_device, std::vector<traced_step>& into) : on_device_(on_device), into_(into) {}

  void take(instrument::trace_event const& e) {
    using instrument::event_kind;
    close(e.begin, e.end);
    if (e.kind == event_kind::memory) {
      if (in_step_) step_.memory.push_back(e);
      return;
    }
    if (!open_.empty()) open_.back().parts++;
    bool const span = e.kind == event_kind::operation || e.kind == event_kind::stage;
    if (span) {
      if (!in_step_ && e.kind == event_kind::operation) {
        in_step_ = true;
        step_ = {e, {}, {}};
        first_ = open_.size();
      }
      open_.push_back({e, 0, step_.kernels.size()});
    } else if (in_step_ && e.kind == event_kind::kernel) {
      step_.kernels.push_back({e, path(open_.size()), e.name, false});
    } else if (in_step_ && e.kind == event_kind::launch) {
      if (auto const found = on_device_.find(e.id); found != on_device_.end())
        for (auto const& k : found->second) step_.kernels.push_back({k, path(open_.size()), k.name, true});
    }
  }
  void finish() {
    while (!open_.empty()) pop();
  }

 private:
  struct open_span {
    instrument::trace_event event;
    int parts;             ///< number of spans and launches directly inside
    std::size_t position;  ///< index among the kernels of the step
  };

  void close(std::int64_t begin, std::int64_t end) {
    while (!open_.empty() && !(open_.back().event.begin <= begin && end <= open_.back().event.end)) pop();
  }
  void pop() {
    auto const closed = open_.back();
    open_.pop_back();
    if (!in_step_ || open_.size() < first_) return;
    if (closed.parts == 0)
      step_.kernels.insert(step_.kernels.begin() + static_cast<std::ptrdiff_t>(closed.position),
                           {closed.event, path(open_.size()), closed.event.name, false});
    if (open_.size() > first_) return;
    into_.push_back(std::move(step_));
    step_ = {};
    in_step_ = false;
  }
  std::string path(std::size_t depth) const {
    std::string text;
    for (std::size_t k = first_ + 1; k < depth; ++k) text.append(text.empty() ? "" : "/").append(open_[k].event.name);
    return text;
  }

  device_kernels const& on_device_;
  std::vector<traced_step>& into_;
  std::vector<open_span> open_;
  traced_step step_{};
  std::size_t first_ = 0;  ///< number of spans that enclose the step
  bool in_step_ = false;
};

}  // namespace detail

/// The steps of all threads, ordered by begin. Events that the trace has dropped are missing.
inline std::vector<traced_step> steps_of(instrument::trace_buffer const& trace) {
  using instrument::event_kind;
  std::map<std::int32_t, std::vector<instrument::trace_event>> threads;
  detail::step_finder::device_kernels on_device;
  auto const tracks = trace.tracks();
  for (auto const& e : trace.events()) {
    bool const thread = tracks[static_cast<std::size_t>(e.track)].kind == instrument::track_kind::thread;
    if (thread && e.kind != event_kind::counter) threads[e.track].push_back(e);
    if (!thread && e.id != 0 && e.kind == event_kind::kernel) on_device[e.id].push_back(e);
  }
  std::vector<traced_step> steps;
  for (auto const& [track, events] : threads) {
    detail::step_finder finder(on_device, steps);
    for (auto const& e : detail::nested_order(events)) finder.take(e);
    finder.finish();
  }
  std::sort(steps.begin(), steps.end(), [](traced_step const& a, traced_step const& b) {
    return std::tie(a.operation.begin, a.operation.end, a.operation.track) <
           std::tie(b.operation.begin, b.operation.end, b.operation.track);
  });
  return steps;
}

}  // namespace mbirk::profile
