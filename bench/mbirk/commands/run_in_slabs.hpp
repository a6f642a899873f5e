// Entries of a case in parallel beam that are larger than memory: slab after slab of its slices, from file to file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "commands/check_result.hpp"
#include "commands/recon_slabs.hpp"
#include "input/test_case.hpp"

namespace mbirk::program {

/// Whether the operation has the same bits slab by slab: projections, filter, direct reconstruction, Hessian diagonal
/// and weights in parallel beam.
bool runs_in_slabs(test_case const& c, operation const& op);

/// Bytes of this program as it is and of the arrays of an entry; if it runs in slabs, also those of its temporaries and
/// of the reference that `check` reads.
double entry_bytes(test_case const& c, case_entry const& e, operation const& op, exec::host const& host, bool check);

/// The largest slabs within `limit` (bytes), multiples of 32 slices; the smallest where none fits.
slab_plan plan_slabs(test_case const& c, case_entry const& e, operation const& op, exec::host const& host,
                     double limit);

/// Runs an entry in slabs of `slices`, and writes its result to a file.
/// @param run  runs the operation on a slab, and returns its seconds
/// @return the seconds of all slabs
/// @throws mbirk::error
double run_in_slabs(test_case const& c, case_entry const& e, operation const& op, index_t slices,
                    std::filesystem::path const& result, std::vector<std::string>& warnings,
                    std::function<double(any_scan const&, operands&)> const& run);

/// check_result of two files, plane by plane.
check_outcome check_result_file(std::filesystem::path const& result, std::filesystem::path const& reference,
                                double rtol, double outliers);

}  // namespace mbirk::program
