// The table at the end of `mbirk profile`.
#pragma once

#include <nlohmann/json.hpp>

namespace mbirk::program {

/// Prints, for each size and operation, median time, share of the size, GUPS, GFLOP/s, GB/s, intensity, and flops over
/// minimal flops; then the errors.
void print_summary(nlohmann::json const& report);

}  // namespace mbirk::program
