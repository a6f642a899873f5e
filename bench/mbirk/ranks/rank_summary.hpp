// The table of mbirk-mpi profile and bench.
#pragma once

#include <nlohmann/json.hpp>

namespace mbirk::program {

/// Prints, for each size and operation, the time of all ranks and of one, and what messages take of it; then what was
/// left out, and the errors. @param document  of rank_measurements
void print_rank_summary(nlohmann::json const& document);

}  // namespace mbirk::program
