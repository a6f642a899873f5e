// Heap profiles: the arrays of a traced run that were live at some moment, by the operation and stage that allocated
// them, as a file for `go tool pprof`.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/instrument/trace.hpp"
#include "mbirk/profile/wire.hpp"

namespace mbirk::profile {

/// Arrays of one name that were allocated at one place.
struct heap_site {
  std::vector<std::string> stack;  ///< operations and stages, outermost first, then the array
  std::int64_t live_arrays = 0, live_bytes = 0;
  std::int64_t all_arrays = 0, all_bytes = 0;  ///< since the trace began, including released arrays
};

struct heap_snapshot {
  std::int64_t time = 0;  ///< nanoseconds since the trace began
  std::int64_t live_bytes = 0;
  std::vector<heap_site> sites;  ///< ordered by stack
};

/// One array in a trace.
struct heap_array {
  std::vector<std::string> stack;  ///< operations and stages, outermost first, then the array
  std::int64_t bytes;
  std::int64_t begin, end;  ///< nanoseconds since the trace began; end is never_released if the trace ends first
  static constexpr std::int64_t never_released = std::numeric_limits<std::int64_t>::max();
};

/// Allocations of a trace in order of time, with their enclosing spans. Events must come from one thread of control, as
/// the policies write them.
class heap_history {
 public:
  explicit heap_history(instrument::trace_buffer const& trace) : dropped_(trace.dropped()) {
    using instrument::event_kind;
    std::vector<instrument::trace_event> spans, changes;
    for (auto const& e : trace.events()) {
      if (e.kind == event_kind::memory) changes.push_back(e);
      else if (e.kind == event_kind::operation || e.kind == event_kind::stage) spans.push_back(e);
    }
    // Spans are written when they end, an enclosing one after the spans inside it; memory changes are written as they
    // happen.
    std::vector<std::size_t> order(spans.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return spans[a].begin != spans[b].begin ? spans[a].begin < spans[b].begin : a > b;
    });

    // Live arrays by name and bytes, most recent last.
    std::map<std::pair<std::string, std::int64_t>, std::vector<std::size_t>> live;
    std::vector<instrument::trace_event> around;
    std::size_t next = 0;
    index_t before = 0;
    for (auto const& e : changes) {
      for (; next < spans.size() && spans[order[next]].begin <= e.begin; ++next) around.push_back(spans[order[next]]);
      std::erase_if(around, [&](auto const& span) { return span.end < e.begin; });
      index_t const difference = e.value - std::exchange(before, e.value);
      index_t const change = e.bytes != 0 ? e.bytes : difference;
      levels_.push_back({e.begin, e.value});
      auto& same = live[{e.name, std::abs(change)}];
      if (change > 0) {
        std::vector<std::string> stack;
        for (auto const& span : around) stack.push_back(span.name);
        stack.push_back(e.name);
        same.push_back(arrays_.size());
        arrays_.push_back({std::move(stack), change, e.begin, heap_array::never_released});
      } else if (change < 0 && !same.empty()) {
        arrays_[same.back()].end = e.begin;
        same.pop_back();
      }
    }
  }

  /// Arrays whose allocation was traced, in that order. Arrays allocated before the trace began are not included, even
  /// if they are released in it.
  std::vector<heap_array> const& arrays() const noexcept { return arrays_; }
  /// Events of any kind that the trace had no room for.
  std::uint64_t dropped() const noexcept { return dropped_; }

  /// Live arrays after all changes up to `time` (a time of the trace).
  heap_snapshot at(std::int64_t time) const {
    std::map<std::vector<std::string>, heap_site> sites;
    heap_snapshot now{time, 0, {}};
    for (auto const& a : arrays_) {
      if (a.begin > time) break;
      auto& site = sites[a.stack];
      ++site.all_arrays;
      site.all_bytes += a.bytes;
      if (a.end <= time) continue;
      ++site.live_arrays;
      site.live_bytes += a.bytes;
      now.live_bytes += a.bytes;
    }
    for (auto& [stack, site] : sites) {
      site.stack = stack;
      now.sites.push_back(std::move(site));
    }
    return now;
  }

  /// The moment with the most live bytes between two times, both inclusive; `begin` when nothing changes in between.
  heap_snapshot peak(std::int64_t begin, std::int64_t end) const { return at(peak_time(begin, end)); }
  std::int64_t peak_time(std::int64_t begin, std::int64_t end) const {
    index_t most = -1;
    std::int64_t when = begin;
    for (auto const& l : levels_)
      if (l.time >= begin && l.time <= end && l.live_bytes > most) {
        most = l.live_bytes;
        when = l.time;
      }
    return when;
  }

 private:
  struct level {
    std::int64_t time;
    index_t live_bytes;
  };
  std::vector<heap_array> arrays_;
  std::vector<level> levels_;
  std::uint64_t dropped_;
};

/// Bytes of an uncompressed profile.proto (github.com/google/pprof) with the sample types inuse_objects, inuse_space
/// (shown first), alloc_objects and alloc_space. Labels: kind, device and the array's name.
/// @param unix_nanoseconds  time of the snapshot since 1970.
/// @param device            where the arrays are, "host" or "cuda:0".
inline std::string to_pprof(heap_snapshot const& heap, std::int64_t unix_nanoseconds,
                            std::string const& device = "host") {
  std::vector<std::string> strings{""};
  std::map<std::string, std::int64_t> ids{{"", 0}};
  auto const id = [&](std::string const& text) {
    auto const [found, fresh] = ids.try_emplace(text, static_cast<std::int64_t>(strings.size()));
    if (fresh) strings.push_back(text);
    return found->second;
  };
  wire out;
  auto const pair = [&](int field, char const* type, char const* unit) {
    wire inner;
    inner.number(1, id(type));
    inner.number(2, id(unit));
    out.message(field, inner);
  };
  pair(1, "inuse_objects", "count");
  pair(1, "inuse_space", "bytes");
  pair(1, "alloc_objects", "count");
  pair(1, "alloc_space", "bytes");

  std::map<std::string, std::int64_t> functions;  // one location each, with the same id
  for (auto const& site : heap.sites) {
    std::vector<std::int64_t> leaf_first;
    for (auto name = site.stack.rbegin(); name != site.stack.rend(); ++name)
      leaf_first.push_back(functions.try_emplace(*name, static_cast<std::int64_t>(functions.size()) + 1).first->second);
    wire sample;
    sample.packed(1, leaf_first);
    sample.packed(2, std::vector{site.live_arrays, site.live_bytes, site.all_arrays, site.all_bytes});
    for (auto const& [key, value] : {std::pair<std::string, std::string>("kind", "temporary"),
                                     {"device", device},
                                     {"buffer", site.stack.back()}}) {
      wire label;
      label.number(1, id(key));
      label.number(2, id(value));
      sample.message(3, label);
    }
    out.message(2, sample);
  }
  wire mapping;  // without a mapping pprof searches for the program
  mapping.number(1, 1);
  mapping.number(5, id("mbirk"));
  for (int const has : {7, 8, 9}) mapping.number(has, 1);
  out.message(3, mapping);
  for (auto const& [name, number] : functions) {
    wire line, location, function;
    line.number(1, number);
    location.number(1, number);
    location.number(2, 1);
    location.message(4, line);
    function.number(1, number);
    function.number(2, id(name));
    function.number(3, id(name));
    out.message(4, location);
    out.message(5, function);
  }
  out.number(9, unix_nanoseconds);
  pair(11, "space", "bytes");
  out.number(12, 1);
  out.number(14, id("inuse_space"));
  for (auto const& text : strings) out.text(6, text);
  return out.bytes();
}

}  // namespace mbirk::profile
