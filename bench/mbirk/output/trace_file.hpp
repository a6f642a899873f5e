// A trace as Chrome/Perfetto JSON.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "mbirk/instrument/tracing.hpp"
#include "mbirk/profile/chrome_trace.hpp"
#include "operations/policy.hpp"

namespace mbirk::program {

/// Default capacity of a trace in events.
inline constexpr std::size_t trace_events = 1 << 16;

/// Description of the program and the traced policy in a trace.
profile::chrome_options trace_options(char const* command, chosen_policy const& policy);

/// Writes the JSON of profile/chrome_trace.hpp, gzip-compressed when the name ends in .gz. The trace must be finished.
/// @throws io_error when the file cannot be written.
void write_trace(std::filesystem::path const& path, instrument::trace_buffer const& trace,
                 profile::chrome_options const& options);

/// Writes text, gzip-compressed when the name ends in .gz. @throws io_error when the file cannot be written.
void write_trace_text(std::filesystem::path const& path, std::string const& text);

/// Writes heap profiles for `go tool pprof` before, at the peak of and after the events between two times of the trace,
/// <folder>/<name>_{before,peak,after}.pb, and the table of lifetimes as text, <folder>/<name>_lifetimes.txt. Returns
/// that table as JSON, times in seconds since `begin`.
/// @throws io_error
nlohmann::json write_memory(std::filesystem::path const& folder, std::string const& name,
                            instrument::trace_buffer const& trace, std::int64_t begin, std::int64_t end);

}  // namespace mbirk::program
