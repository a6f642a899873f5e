// A trace as Chrome/Perfetto JSON.
#pragma once

#include <filesystem>

#include "mbirk/instrument/tracing.hpp"

namespace mbirk::program {

/// Writes traceEvents, gzip-compressed when the name ends in .gz: a track of operations with their stages, a counter of live bytes. Dropped events
/// are stated in the file.
/// @throws io_error when the file cannot be written.
void write_trace(std::filesystem::path const& path, instrument::trace_buffer const& trace);

}  // namespace mbirk::program
