// What `mbirk profile` does with one operation at one size: runs that are timed and traced, and counts.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "mbirk/instrument/ledger.hpp"
#include "operations/policy.hpp"
#include "operations/profile_problem.hpp"
#include "output/device_trace.hpp"

namespace mbirk::program {

/// One operation at one size: its data, and where it runs.
struct measured_operation {
  profile_entry const& entry;
  profile_problem const& problem;
  operands data;
  chosen_policy const& policy;
  device_trace& trace;
  std::string range = {};  ///< of NVTX, if runs are for Nsight

  /// Run 1 is the warm-up, run 2 is traced, every later run is timing only, or Nsight's: the median of as many calls as fit into 50 ms, at least 1, at most
  /// 25. The arrays are placed before the clock starts; the result is fetched after it stops. Transfers are those of one call.
  /// @returns an entry of `measurements` without its names.
  nlohmann::json measure(int run);
  /// An operation that has an unfused form, both forms of it: times of as many runs, counts, how far apart the results are; null for the others.
  /// @param time, fused  of the operation itself; null where it was not counted  @throws error when the results differ by more than roundings do
  nlohmann::json measure_staged(index_t n, int runs, double time, instrument::operation_record const* fused);

 private:
  void run(int run, caller const& calls);
};

/// What was counted of an operation: on the host exactly up to size 256, with reuse distances up to 128, above by the model on shapes alone; of a device's
/// kernels by emulation up to 32.
struct operation_counts {
  instrument::operation_record host;
  std::optional<instrument::operation_record> device;
  bool counted;         ///< not modelled
  nlohmann::json cost;  ///< an entry of cost_analysis

  operation_counts(measured_operation& m, index_t n);
  /// Those of the kernels that a policy traces; null where they were not counted.
  instrument::operation_record const* traced(measured_operation const& m) const;
};

}  // namespace mbirk::program
