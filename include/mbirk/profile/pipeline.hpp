// Overlap of data loading and computing: how long a loop waits for data, and how much of the loading is hidden behind
// the work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/instrument/trace.hpp"
#include "mbirk/profile/timing.hpp"

namespace mbirk::profile {

/// Times in seconds. A moment counts once, regardless of how many threads load or compute.
struct pipeline_times {
  double whole = 0;    ///< from the first beginning to the last end of either
  double loading = 0, computing = 0;
  double overlap = 0;  ///< loading and computing at once
  double waiting = 0;  ///< loading while nothing computes
  double idle = 0;     ///< neither loading nor computing

  double waiting_share() const noexcept { return whole > 0 ? waiting / whole : 0; }
  /// Share of the loading time that overlaps with computing; 1 if there is no loading.
  double hidden_share() const noexcept { return loading > 0 ? overlap / loading : 1; }
  std::string text() const {
    return detail::time_text(whole) + ": computing " + detail::time_text(computing) + ", loading " +
           detail::time_text(loading) +
           detail::formatted(" of which %.0f %% is hidden; waits for data %.0f %% of the time, neither %.0f %%",
                             100 * hidden_share(), 100 * waiting_share(), whole > 0 ? 100 * idle / whole : 0.0);
  }
};

/// Evaluates the spans with these names on any thread.
/// @throws parameter_error when either name has no span.
inline pipeline_times times_of_pipeline(instrument::trace_buffer const& trace, std::string_view loading,
                                        std::string_view computing) {
  struct edge {
    std::int64_t time;
    int load, compute;
  };
  std::vector<edge> edges;
  bool any_load = false, any_compute = false;
  for (auto const& e : trace.events()) {
    if (e.kind != instrument::event_kind::operation && e.kind != instrument::event_kind::stage) continue;
    int const load = e.name == loading, compute = e.name == computing;
    if (load + compute == 0) continue;
    any_load |= load > 0;
    any_compute |= compute > 0;
    edges.push_back({e.begin, load, compute});
    edges.push_back({e.end, -load, -compute});
  }
  require(any_load && any_compute, [&] {
    return "times_of_pipeline: the trace has no span '" + std::string(any_load ? computing : loading) + "'";
  });
  std::sort(edges.begin(), edges.end(), [](edge const& a, edge const& b) { return a.time < b.time; });
  pipeline_times t;
  int loads = 0, computes = 0;
  std::int64_t before = edges.front().time;
  for (auto const& e : edges) {
    double const seconds = static_cast<double>(e.time - before) * 1e-9;
    t.whole += seconds;
    if (loads > 0) t.loading += seconds;
    if (computes > 0) t.computing += seconds;
    if (loads > 0 && computes > 0) t.overlap += seconds;
    else if (loads > 0) t.waiting += seconds;
    else if (computes == 0) t.idle += seconds;
    loads += e.load;
    computes += e.compute;
    before = e.time;
  }
  return t;
}

}  // namespace mbirk::profile
