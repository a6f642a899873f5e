// The policy under which a command runs operations, chosen at run time.
#pragma once

#include <memory>
#include <memory_resource>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "operations/common_options.hpp"
#include "operations/device_operations.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

/// Instrumentation of a run: one of these, or none.
struct instrumentation {
  instrument::trace_buffer* trace = nullptr;
  instrument::ledger* counts = nullptr;
  bool nvtx = false;
  bool profiler_range = false;  ///< in addition, the calls lie between cudaProfilerStart and cudaProfilerStop
  std::string range = {};       ///< with nvtx: name of the range around each call
};

class chosen_policy {
 public:
  /// @throws unavailable_error, in one line, when this program or machine does not support the policy.
  explicit chosen_policy(common_options const& options, exec::emulation_options emulation = {});

  std::string const& name() const noexcept { return name_; }
  /// Whether it runs kernels in blocks, on memory of its own.
  bool has_blocks() const noexcept { return name_ != "host"; }
  /// The host policy, used for everything that does not run in blocks.
  exec::host const& host() const noexcept { return host_; }
  /// Description of the device under the policy cuda; null for others.
  cuda_description const* device() const noexcept;
  /// Sets the source of temporary host memory.
  void set_host_memory(std::pmr::memory_resource* resource) { host_ = exec::host{threads_, resource}; }

  /// Runs an operation. On CUDA, NVTX marks its stages and kernels; on the host each call is a single range, which
  /// avoids another instantiation.
  /// @throws mbirk::error
  /// @throws unavailable_error, in one line, when the policy does not support the instrumentation: kernels on CUDA are
  /// not counted, and the profiler's range exists only there.
  void run(operation const& op, any_scan const& scan, operands& x, instrumentation const& what,
           caller const& calls) const;
  void check(instrumentation const& what) const;
  /// Reconstructs under this policy.
  /// @param on_host  the context for the host; must outlive the result, like `memory`
  /// @param memory   receives the arrays that are live on a device
  std::unique_ptr<reconstructor> recon(recon_context const& on_host, instrument::live_sites& memory) const;

  /// Describes the policy and the program in a profile: backend, devices, cuda_version, ...; for a device also
  /// driver_version and compute_capability.
  nlohmann::json environment() const;

 private:
  std::string name_;
  int threads_;
  exec::host host_;
  std::shared_ptr<device_operations const> device_;  ///< null on the host
};

/// Names of this program's policies that run an operation.
std::vector<std::string> policies_of(operation const& op);
/// The name from /proc/cpuinfo.
std::string cpu_name();

}  // namespace mbirk::program
