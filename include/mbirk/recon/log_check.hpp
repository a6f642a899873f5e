// Whether the lists of a log fit each other, which operations that resume rely on.
#pragma once

#include <iterator>
#include <string>

#include "mbirk/core/index.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::detail {

/// Describes the first list that does not have one entry per iteration, or one value per slice; empty if all do.
inline std::string log_fault(recon_log const& log, index_t slices) {
  std::string fault;
  auto const check = [&](char const* name, auto const& list) {
    if (fault.empty() && std::ssize(list) != log.num_iterations)
      fault = std::string(name) + " has " + std::to_string(list.size()) +
              " entries, expected one per iteration, num_iterations = " + std::to_string(log.num_iterations);
  };
  check("partition_sequence", log.partition_sequence);
  check("fm_rmse", log.fm_rmse);
  check("prior_loss", log.prior_loss);
  check("stop_threshold_change_pct", log.stop_threshold_change_pct);
  check("alpha_values", log.alpha_values);
  check("delta_norm_per_slice", log.delta_norm_per_slice);
  for (auto const& norms : log.delta_norm_per_slice)
    if (fault.empty() && std::ssize(norms) != slices)
      fault = "delta_norm_per_slice has a list of " + std::to_string(norms.size()) +
              " entries, expected one per slice = " + std::to_string(slices);
  return fault;
}

}  // namespace mbirk::detail
