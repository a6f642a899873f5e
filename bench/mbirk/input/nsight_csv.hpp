// What Nsight Systems and Nsight Compute have measured, merged into a profile by the names of ranges and kernels.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mbirk::program {

/// Adds profile["nsight"]: {"files": [...], "ranges": [...], "kernels": [...]}, flat records. `profile` is a document of mbirk profile or report.
///
/// nsys: CSV of `nsys stats --format csv`: the reports nvtx_sum, nvtx_kern_sum and cuda_gpu_kern_sum, one or several in a file; others are passed over.
/// ncu: CSV of `ncu --csv --page raw`: a record for each kernel of a range, "metrics" as means of its launches in units without prefix ("byte", "second").
///
/// A record has the operation and the size that it belongs to, or null: the range "<operation>_v<size>", which --cuda-profiler-range makes, names both; the
/// range of an operation of the library names it. A kernel without range belongs to the only operation of the profile, or else to the only one whose
/// name begins with the kernel's. nsys counts a launch once for each range around it, ncu's is in the record of the outermost range of an operation.
/// @throws io_error, one line: a file that is neither, or that lacks a column; `profile` is then as it was.
void merge_nsight(nlohmann::json& profile, std::vector<std::string> const& nsys_files, std::vector<std::string> const& ncu_files);

}  // namespace mbirk::program
