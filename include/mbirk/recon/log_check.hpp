// Whether the lists of a log fit each other, which operations that resume rely on.
#pragma once

#include <iterator>
#include <string>

#include "mbirk/core/error.hpp"
#include "mbirk/core/index.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::detail {

/// Describes the first list that does not have one entry per iteration, or one value per slice; empty if all do.
MBIRK_COLD inline std::string log_fault(recon_log const& log, index_t slices) {
  std::string fault;
  auto const check = [&](char const* name, std::size_t entries) {
    if (fault.empty() && static_cast<index_t>(entries) != log.num_iterations)
      fault = message(name, " has ", entries, " entries, expected one per iteration, num_iterations = ",
                      log.num_iterations);
  };
  check("partition_sequence", log.partition_sequence.size());
  check("fm_rmse", log.fm_rmse.size());
  check("prior_loss", log.prior_loss.size());
  check("stop_threshold_change_pct", log.stop_threshold_change_pct.size());
  check("alpha_values", log.alpha_values.size());
  check("delta_norm_per_slice", log.delta_norm_per_slice.size());
  for (auto const& norms : log.delta_norm_per_slice)
    if (fault.empty() && std::ssize(norms) != slices)
      fault = message("delta_norm_per_slice has a list of ", norms.size(), " entries, expected one per slice = ",
                      slices);
  return fault;
}

}  // namespace mbirk::detail
