// Marks the part of a run that Nsight records: nsys profile --capture-range=cudaProfilerApi,
// ncu --profile-from-start off.
#pragma once

#include <cuda_profiler_api.h>

#include "mbirk/exec/cuda.hpp"

namespace mbirk::profile {

/// Calls cudaProfilerStart, and cudaProfilerStop when it is destroyed. Without a tool both do nothing. Synchronise the
/// stream before the range ends, because work that is still queued may be omitted. Ranges do not nest: the first end
/// stops the collection.
class profiler_range {
 public:
  /// @throws device_error
  profiler_range() { exec::check_cuda(cudaProfilerStart(), "cudaProfilerStart"); }
  ~profiler_range() { (void)cudaProfilerStop(); }
  profiler_range(profiler_range const&) = delete;
  profiler_range& operator=(profiler_range const&) = delete;
};

}  // namespace mbirk::profile
