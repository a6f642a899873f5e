// Overhead of instrumentation: an operation with and without it, called alternately.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "operations/profile_problem.hpp"

namespace mbirk::program {

/// Policies that can be measured. operations, unique and reuse are levels of counting.
inline std::vector<std::string> const overhead_policies{"tracing", "nvtx", "operations", "unique", "reuse", "model"};

/// Measures, and prints a table for documents row by row.
/// @return  the rows as JSON
nlohmann::json measure_overhead(std::vector<std::string> const& policies, std::vector<index_t> const& sizes,
                                std::vector<profile_entry const*> const& entries, int threads);

}  // namespace mbirk::program
