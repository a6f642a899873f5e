// Measurements of one operation at one size by `mbirk profile`: timed and traced runs, and counts.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "commands/timed_calls.hpp"
#include "mbirk/instrument/ledger.hpp"
#include "operations/policy.hpp"
#include "operations/profile_problem.hpp"
#include "output/device_trace.hpp"

namespace mbirk::program {

/// One operation at one size, with its data and its policy.
struct measured_operation {
  profile_entry const& entry;
  profile_problem const& problem;
  operands data;
  chosen_policy const& policy;
  device_trace& trace;
  std::string range = {};  ///< name of the NVTX range, if runs are for Nsight

  /// Run 1 is the warm-up, run 2 is traced: one call each. Arrays are copied to the device before the clock starts, and
  /// the result is copied back after it stops. Run 1 has a hash of the result.
  /// @returns an entry of `measurements` without its names.
  nlohmann::json measure(int run);
  /// Adds a batch to the calls of a later run, which is for timing only or for Nsight.
  void time(timed_calls& calls, instruments& with, batch_limits const& limits);
  /// Measures both forms of an operation that has an unfused form: times, counts, and the difference of the results.
  /// Null for other operations. The ratio of the times is null, with the reason, if one of them was disturbed.
  /// @param fused    calls of the operation itself; empty: its only time is `warm_up`, and the unfused form is called
  ///                 once
  /// @param counts   of the operation itself; null if it was not counted
  /// @throws error when the results differ by more than rounding errors
  nlohmann::json measure_staged(index_t n, instruments& with, timed_calls const& fused, double warm_up,
                                instrument::operation_record const* counts);

 private:
  void run(int run, caller const& calls);
};

/// An entry of `measurements` of a later run, without its names. Transfers are those of one call.
nlohmann::json later_run(timed_calls const& calls, chosen_policy const& policy);

/// Whether counts of an operation include reuse distances up to the size at which they are affordable.
bool counts_reuse(index_t n);
/// Counts of an operation. On the host they are exact up to size 128, for iterative reconstructions up to 64, and come
/// from the cost model above, which needs shapes only. For a device's kernels they come from emulation up to size 32.
struct operation_counts {
  instrument::operation_record host;
  std::optional<instrument::operation_record> device;
  bool counted;         ///< false: modelled
  nlohmann::json cost;  ///< an entry of cost_analysis

  operation_counts(measured_operation& m, index_t n, bool reuse);
  /// Counts of the kernels that a policy traces; null if these were not counted.
  instrument::operation_record const* traced(measured_operation const& m) const;
};

}  // namespace mbirk::program
