// A trace as Chrome/Perfetto JSON.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "mbirk/instrument/tracing.hpp"
#include "mbirk/profile/chrome_trace.hpp"
#include "operations/policy.hpp"

namespace mbirk::program {

/// How many events a trace has room for, unless an option says it.
inline constexpr std::size_t trace_events = 1 << 16;

/// What a trace says of the program and of the policy that is traced.
profile::chrome_options trace_options(char const* command, chosen_policy const& policy);

/// Writes the JSON of profile/chrome_trace.hpp, gzip-compressed when the name ends in .gz. The trace must be finished.
/// @throws io_error when the file cannot be written.
void write_trace(std::filesystem::path const& path, instrument::trace_buffer const& trace, profile::chrome_options const& options);

/// Writes what was live before, at the peak and after the events between two times of the trace: <folder>/<name>_{before,peak,after}.pb, heap profiles
/// for `go tool pprof`; and the table of lifetimes as text, <folder>/<name>_lifetimes.txt. Returns that table as JSON, times in seconds since `begin`.
/// @throws io_error
nlohmann::json write_memory(std::filesystem::path const& folder, std::string const& name, instrument::trace_buffer const& trace, std::int64_t begin, std::int64_t end);

}  // namespace mbirk::program
