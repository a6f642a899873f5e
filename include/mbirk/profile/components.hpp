// A table of named parts of a program: calls, mean, spread and share of the total, from a trace or from the caller's
// own timings.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "mbirk/instrument/trace.hpp"
#include "mbirk/profile/statistics.hpp"
#include "mbirk/profile/timing.hpp"

namespace mbirk::profile {

struct component {
  std::vector<std::string> path;  ///< names of the enclosing parts, outermost first, then its own name
  running_stats seconds;          ///< statistics of its calls
  double share = 0;               ///< its total divided by that of all top-level components
};

/// Not thread-safe.
class component_table {
 public:
  component_table() = default;
  /// Collects the spans written by threads: operations, stages and kernels by the path of their enclosing spans. Spans
  /// of several threads with the same path share a row.
  explicit component_table(instrument::trace_buffer const& trace) {
    using instrument::event_kind;
    auto const tracks = trace.tracks();
    auto const events = trace.events();
    std::vector<std::size_t> spans;
    for (std::size_t k = 0; k < events.size(); ++k) {
      auto const& e = events[k];
      bool const span = e.kind == event_kind::operation || e.kind == event_kind::stage || e.kind == event_kind::kernel;
      auto const t = static_cast<std::size_t>(e.track);
      if (span && (t >= tracks.size() || tracks[t].kind == instrument::track_kind::thread)) spans.push_back(k);
    }
    // Sort by thread, then by begin; a span is written when it ends, after the spans it encloses.
    std::sort(spans.begin(), spans.end(), [&](std::size_t a, std::size_t b) {
      return std::tuple(events[a].track, events[a].begin, events[b].end, b) <
             std::tuple(events[b].track, events[b].begin, events[a].end, a);
    });
    std::vector<std::pair<instrument::trace_event, std::size_t>> around;  // enclosing spans and their rows
    for (auto const k : spans) {
      auto const& e = events[k];
      auto const encloses = [&](instrument::trace_event const& o) {
        return o.track == e.track && o.begin <= e.begin && e.end <= o.end;
      };
      while (!around.empty() && !encloses(around.back().first)) around.pop_back();
      auto const mine = find(around.empty() ? none : around.back().second, e.name);
      rows_[mine].seconds.add(static_cast<double>(e.end - e.begin) * 1e-9);
      around.emplace_back(e, mine);
    }
  }

  /// Adds a call of a top-level part.
  void add(std::string_view name, double seconds) { rows_[find(none, name)].seconds.add(seconds); }
  /// Times one call of fn().
  template <class F> void time(std::string_view name, F&& fn) { add(name, seconds_of(std::forward<F>(fn))); }

  /// Rows, each followed by its parts, in the order of their first calls.
  std::vector<component> rows() const {
    double total = 0;
    for (auto const& r : rows_)
      if (r.parent == none) total += r.seconds.total();
    std::vector<component> list;
    append(none, {}, total, list);
    return list;
  }
  /// Table with the columns name, calls, mean, standard deviation, total and share; parts are indented.
  std::string text() const {
    auto const list = rows();
    std::size_t width = 9;
    for (auto const& c : list) width = std::max(width, 2 * (c.path.size() - 1) + c.path.back().size());
    std::string text = detail::formatted("%-*s %8s %10s %10s %10s %7s\n", static_cast<int>(width), "component", "calls",
                                         "mean", "deviation", "total", "share");
    for (auto const& c : list) {
      auto const name = std::string(2 * (c.path.size() - 1), ' ') + c.path.back();
      text += detail::formatted("%-*s %8lld %10s %10s %10s %6.1f%%\n", static_cast<int>(width), name.c_str(),
                                static_cast<long long>(c.seconds.count()), detail::time_text(c.seconds.mean()).c_str(),
                                detail::time_text(c.seconds.standard_deviation()).c_str(),
                                detail::time_text(c.seconds.total()).c_str(), 100 * c.share);
    }
    return text;
  }

 private:
  static constexpr auto none = static_cast<std::size_t>(-1);
  struct row {
    std::string name;
    std::size_t parent;
    running_stats seconds;
  };

  std::size_t find(std::size_t parent, std::string_view name) {
    auto const [found, fresh] = known_.try_emplace({parent, std::string(name)}, rows_.size());
    if (fresh) rows_.push_back({std::string(name), parent, {}});
    return found->second;
  }
  void append(std::size_t parent, std::vector<std::string> const& path, double total,
              std::vector<component>& list) const {
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      if (rows_[r].parent != parent) continue;
      auto mine = path;
      mine.push_back(rows_[r].name);
      list.push_back({mine, rows_[r].seconds, total > 0 ? rows_[r].seconds.total() / total : 0});
      append(r, mine, total, list);
    }
  }

  std::vector<row> rows_;
  std::map<std::pair<std::size_t, std::string>, std::size_t> known_;
};

}  // namespace mbirk::profile
