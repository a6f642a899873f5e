// The operations on a CUDA device, in plain C++. What is declared here is defined by operations_cuda*.cu, linked in where MBIRK_WITH_CUDA is defined.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "operations/operations.hpp"

namespace mbirk::program {

struct cuda_description {
  std::string device;           ///< "NVIDIA H100 80GB HBM3"
  std::string runtime, driver;  ///< versions, "13.0"
  std::string capability;       ///< "9.0"
  int major, minor, multiprocessors, clock_khz;
  std::uint64_t memory_bytes;
  double peak_tflops;  ///< float32 without tensor cores, at the highest clock
  double memory_gbs;   ///< 1e9 bytes per second, at the highest clock
};

/// A stream of the current device with a pool of memory. Copies share them.
class cuda_operations {
 public:
  /// @throws device_error, with what the runtime said, when there is no device that can be used.
  cuda_operations();

  cuda_description const& description() const noexcept;
  /// An operation that does not run on the host only, traced (unless `trace` is null) or marked for NVTX. @throws mbirk::error
  void run(std::string_view operation, any_scan const& scan, operands& x, instrument::trace_buffer* trace, bool nvtx, caller const& calls) const;
  /// Between cudaProfilerStart and, when it is destroyed, cudaProfilerStop.
  std::shared_ptr<void const> profiler_range() const;

 private:
  struct implementation;
  std::shared_ptr<implementation const> implementation_;
};

}  // namespace mbirk::program
