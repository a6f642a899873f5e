// A trace as Chrome/Perfetto JSON.
#pragma once

#include <filesystem>

#include "mbirk/instrument/tracing.hpp"

namespace mbirk::program {

/// Writes traceEvents, gzip-compressed when the name ends in .gz: a track of operations with their stages, a counter of live bytes. Dropped events
/// are stated in the file.
/// @throws io_error when the file cannot be written.
void write_trace(std::filesystem::path const& path, instrument::trace_buffer const& trace);

/// Writes what was live before, at the peak and after the events between two times of the trace: <folder>/<name>_{before,peak,after}.pb, heap profiles
/// for `go tool pprof`. @throws io_error
void write_heaps(std::filesystem::path const& folder, std::string const& name, instrument::trace_buffer const& trace, std::int64_t begin, std::int64_t end);

}  // namespace mbirk::program
