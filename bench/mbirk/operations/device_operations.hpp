// The operations on devices, in plain C++. Only the programs mbirk-devices and mbirk-mpi-devices have them: without
// them, mbirk builds in half the time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mbirk/exec/emulation/options.hpp"
#include "mbirk/instrument/live.hpp"
#include "mbirk/instrument/trace.hpp"
#include "operations/device_factories.hpp"
#include "operations/operations.hpp"
#include "operations/recon_run.hpp"

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

/// Instrumentation of an operation on a device: at most one of these.
struct device_observation {
  instrument::trace_buffer* trace = nullptr;
  instrument::ledger* counts = nullptr;  ///< emulated devices only
  bool reuse = true;                     ///< with counts: reuse distances too
  bool nvtx = false;                     ///< CUDA devices only
};

/// The operations of one device policy.
class device_operations {
 public:
  virtual ~device_operations() = default;
  /// Runs an operation that does not run on the host only. @throws mbirk::error
  virtual void run(operation const& op, any_scan const& scan, operands& x, device_observation const& what,
                   caller const& calls) const = 0;
  /// @param memory  receives the arrays that are live on the device; must outlive the result
  virtual std::unique_ptr<reconstructor> recon(instrument::live_sites& memory) const = 0;
  /// Null for an emulated device.
  virtual cuda_description const* description() const noexcept { return nullptr; }
  /// Between cudaProfilerStart and, when it is destroyed, cudaProfilerStop. Null for an emulated device.
  virtual std::shared_ptr<void const> profiler_range() const { return nullptr; }
};

}  // namespace mbirk::program
