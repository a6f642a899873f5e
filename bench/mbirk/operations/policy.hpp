// The policy that a command runs operations under, chosen at run time.
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

/// What a run notices: one of these, or nothing.
struct instrumentation {
  instrument::trace_buffer* trace = nullptr;
  instrument::ledger* counts = nullptr;
  bool nvtx = false;
  bool profiler_range = false;  ///< besides: the calls lie between cudaProfilerStart and cudaProfilerStop
  std::string range = {};       ///< with nvtx: each call lies in a range of this name
};

class chosen_policy {
 public:
  /// @throws unavailable_error, one line, when this program or this machine cannot run it.
  explicit chosen_policy(common_options const& options, exec::emulation_options emulation = {});

  std::string const& name() const noexcept { return name_; }
  /// Whether it runs kernels in blocks, on memory of its own.
  bool has_blocks() const noexcept { return name_ != "host"; }
  /// The host itself, or what runs on the host beside blocks.
  exec::host const& host() const noexcept { return host_; }
  /// Of the policy cuda; null for the others.
  cuda_description const* device() const noexcept;
  /// Where temporaries of the host come from.
  void set_host_memory(std::pmr::memory_resource* resource) { host_ = exec::host{threads_, resource}; }

  /// Runs an operation. NVTX marks its stages and kernels on CUDA; what runs on the host is not compiled once more for that: there each call is one range.
  /// @throws mbirk::error
  /// @throws unavailable_error, one line, when the policy has no such instrument: kernels on CUDA are not counted, and the profiler's range is only there.
  void run(operation const& op, any_scan const& scan, operands& x, instrumentation const& what, caller const& calls) const;
  void check(instrumentation const& what) const;

  /// What a profile says about it and the program: backend, devices, cuda_version, ...; of a device its driver_version and compute_capability too.
  nlohmann::json environment() const;

 private:
  std::string name_;
  int threads_;
  exec::host host_;
  std::shared_ptr<device_operations const> device_;  ///< null on the host
};

/// Names of the policies of this program that run an operation.
std::vector<std::string> policies_of(operation const& op);
/// As /proc/cpuinfo has it.
std::string cpu_name();

}  // namespace mbirk::program
