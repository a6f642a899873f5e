// The table at the end of `mbirk profile`.
#pragma once

#include <nlohmann/json.hpp>

namespace mbirk::program {

/// Prints first whether other programs disturbed operations. Then, for each size and operation, least and median time
/// with the interval of the median, share of the size, GUPS, GFLOP/s, GB/s, intensity, and flops over
/// minimal flops; then the errors.
void print_summary(nlohmann::json const& report);

}  // namespace mbirk::program
