// What instrumentation costs: an operation without it and with it, in turn.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "operations/profile_problem.hpp"

namespace mbirk::program {

/// Policies that can be measured: those of the program (tracing, unique, reuse, model) for every operation, the others for some (operations_overhead.cpp).
/// operations, unique and reuse are levels of counting.
inline std::vector<std::string> const overhead_policies{"tracing", "nvtx", "operations", "unique", "reuse", "model"};

/// Calls an operation on the host under one of the other policies. False, and no call, when the program does not have the two together.
bool run_under(std::string_view policy, operation const& op, exec::host const& host, any_scan const& scan, operands& x, caller const& calls);

/// Measures and prints, row by row, a table for documents. @return  the rows as JSON
nlohmann::json measure_overhead(std::vector<std::string> const& policies, std::vector<index_t> const& sizes,
                                std::vector<profile_entry const*> const& entries, int threads);

}  // namespace mbirk::program
