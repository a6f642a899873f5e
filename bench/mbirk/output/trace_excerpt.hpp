// The first spans of a traced call as JSON, for the timeline of the report.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "mbirk/instrument/trace.hpp"

namespace mbirk::program {

/// {"spans": [{"name", "begin", "end"}], "left out"}: operations and stages between two times of the trace, in seconds
/// relative to the first time. Keeps the first `most` in order of time, and every operation.
nlohmann::json trace_excerpt(instrument::trace_buffer const& trace, std::int64_t begin, std::int64_t end,
                             std::size_t most = 150);

/// {"iteration/subset/back": {"seconds", "runs"}, ...}: stages of the operation between two times, by their path below
/// it.
nlohmann::json stage_times(instrument::trace_buffer const& trace, std::int64_t begin, std::int64_t end);

}  // namespace mbirk::program
