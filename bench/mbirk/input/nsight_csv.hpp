// Results of Nsight Systems and Nsight Compute, merged into a profile by the names of ranges and kernels.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mbirk::program {

/// Adds profile["nsight"]: {"files": [...], "ranges": [...], "kernels": [...]}, flat records. `profile` is a document
/// of mbirk profile or report.
/// 
/// nsys: CSV of `nsys stats --format csv` with the reports nvtx_sum, nvtx_kern_sum and cuda_gpu_kern_sum, one or
/// several per file; other reports are skipped. ncu: CSV of `ncu --csv --page raw`; each kernel of a range becomes a
/// record, with "metrics" as means over its launches in units without prefix ("byte", "second").
/// 
/// A record has the operation and size that it belongs to, or null. The range "<operation>_v<size>", made by
/// --cuda-profiler-range, gives both; the range of an operation of the library gives the operation. A kernel without
/// range belongs to the only operation of the profile or, if there are several, to the only one whose name begins with
/// the kernel's. nsys counts a launch once for each enclosing range; a record of ncu belongs to the outermost range of
/// an operation.
/// @throws io_error, in one line, for a file that is neither or lacks a column; `profile` is then unchanged.
void merge_nsight(nlohmann::json& profile, std::vector<std::string> const& nsys_files,
                  std::vector<std::string> const& ncu_files);

}  // namespace mbirk::program
