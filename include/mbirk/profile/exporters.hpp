// Exporters turn the trace of a session into files. An exporter is a function, so that a program can add its own.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "mbirk/instrument/trace.hpp"
#include "mbirk/profile/chrome_trace.hpp"
#include "mbirk/profile/components.hpp"
#include "mbirk/profile/heap.hpp"
#include "mbirk/profile/xplane.hpp"

namespace mbirk::profile {

struct exported_file {
  std::filesystem::path name;  ///< relative to the folder of the session; folders in the name are created
  std::string bytes;
};
/// Files for a trace; empty if it contains nothing for them.
/// @param name  name of the session.
using exporter =
    std::function<std::vector<exported_file>(instrument::trace_buffer const& trace, std::string const& name)>;

namespace detail {

inline std::int64_t unix_nanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace detail

/// "<name>.components.txt": number of dropped events, and the table of components.
inline std::vector<exported_file> export_components(instrument::trace_buffer const& trace, std::string const& name) {
  auto const head =
      std::to_string(trace.events().size()) + " events, " + std::to_string(trace.dropped()) + " dropped\n\n";
  return {{name + ".components.txt", head + component_table(trace).text()}};
}
/// "<name>.heap_peak.pb" and "<name>.heap_end.pb" for `go tool pprof`, if memory was traced.
inline std::vector<exported_file> export_heap(instrument::trace_buffer const& trace, std::string const& name) {
  auto const events = trace.events();
  if (std::none_of(events.begin(), events.end(),
                   [](auto const& e) { return e.kind == instrument::event_kind::memory; }))
    return {};
  auto const now = detail::unix_nanoseconds(), end = trace.now();
  heap_history const history(trace);
  return {{name + ".heap_peak.pb", to_pprof(history.peak(0, end), now)},
          {name + ".heap_end.pb", to_pprof(history.at(end), now)}};
}
/// "<name>.trace.json" for Perfetto and chrome://tracing.
inline std::vector<exported_file> export_chrome_trace(instrument::trace_buffer const& trace, std::string const& name) {
  return {{name + ".trace.json", to_chrome_trace(trace)}};
}

/// "plugins/profile/<name>_<nanoseconds since 1970>/localhost.xplane.pb" for XProf and TensorBoard, with the folder of
/// the session as log folder. Each export writes a new file, because the viewers cache the files they have read. The
/// machine's roofs are unknown here.
inline std::vector<exported_file> export_xplane(instrument::trace_buffer const& trace, std::string const& name) {
  machine_specs here;
  for (auto const& track : trace.tracks())
    if (track.kind == instrument::track_kind::stream) here.backend = backend::cuda;
  auto const now = detail::unix_nanoseconds();
  auto const folder = std::filesystem::path("plugins/profile") / (name + '_' + std::to_string(now));
  return {{folder / "localhost.xplane.pb", to_xspace(trace, {}, here, {.unix_nanoseconds = now - trace.now()})}};
}

inline std::vector<exporter> default_exporters() {
  return {export_components, export_heap, export_chrome_trace, export_xplane};
}

}  // namespace mbirk::profile
