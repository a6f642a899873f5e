// The table of operations over exec::cuda, and what there is to say about the device.
#include <algorithm>
#include <iterator>
#include <string>

#include "mbirk/exec/cuda.cuh"
#include "mbirk/profile/profiler_range.cuh"
#include "operations/block_operation.hpp"
#include "operations/cuda_operations.hpp"
#include "operations/marked_operation.hpp"
#include "operations/operation_bodies.hpp"

namespace mbirk::program {
namespace {

struct cuda_entry {
  std::string_view name;
  void (*plain)(context<exec::cuda, instrument::none> const&, any_scan const&, operands&, caller const&);
  void (*traced)(context<exec::cuda, instrument::tracing> const&, any_scan const&, operands&, caller const&);
  void (*marked)(context<exec::cuda, instrument::nvtx> const&, any_scan const&, operands&, caller const&);
};
template <class Body>
constexpr cuda_entry entry_of{Body::name, &block_operation<Body, exec::cuda>::plain, &block_operation<Body, exec::cuda>::traced, &marked_operation<Body>::run};

constexpr cuda_entry entries[] = {
    entry_of<body::forward_project>, entry_of<body::back_project>,   entry_of<body::sparse_forward_project>, entry_of<body::sparse_back_project>,
    entry_of<body::hessian_diagonal>, entry_of<body::direct_filter>, entry_of<body::fbp_filter>,             entry_of<body::fdk_filter>,
    entry_of<body::direct_recon>,    entry_of<body::fbp_recon>,      entry_of<body::fdk_recon>,              entry_of<body::recon>,
    entry_of<body::prox_map>,        entry_of<body::gen_weights>,    entry_of<body::gen_weights_mar>,        entry_of<body::qggmrf_denoise>,
    entry_of<body::median_filter3d>,
};

/// 13020 is 13.2.
std::string version_text(int version) { return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10); }

/// Float32 units of a multiprocessor: 64 in compute capability 7.x and 8.0, otherwise 128 from 5.0 on.
int units_of(int major, int minor) { return major == 7 || (major == 8 && minor == 0) ? 64 : 128; }

cuda_description describe() {
  int device = 0, runtime = 0, driver = 0;
  cudaDeviceProp properties{};
  exec::check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  exec::check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  exec::check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  exec::check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  int clock_khz = 0, memory_khz = 0;
  exec::check_cuda(cudaDeviceGetAttribute(&clock_khz, cudaDevAttrClockRate, device), "cudaDeviceGetAttribute");
  exec::check_cuda(cudaDeviceGetAttribute(&memory_khz, cudaDevAttrMemoryClockRate, device), "cudaDeviceGetAttribute");
  double const flops = 2.0 * units_of(properties.major, properties.minor) * properties.multiProcessorCount * clock_khz * 1e3;
  double const bytes = 2.0 * memory_khz * 1e3 * properties.memoryBusWidth / 8;  // twice a clock
  return {properties.name, version_text(runtime), version_text(driver), std::to_string(properties.major) + '.' + std::to_string(properties.minor),
          properties.major, properties.minor, properties.multiProcessorCount, clock_khz, properties.totalGlobalMem, flops * 1e-12, bytes * 1e-9};
}

}  // namespace

struct cuda_operations::implementation {
  exec::cuda exec{};
  instrument::nvtx marks{};
  cuda_description description = describe();
};

cuda_operations::cuda_operations() : implementation_(std::make_shared<implementation>()) {}

cuda_description const& cuda_operations::description() const noexcept { return implementation_->description; }

void cuda_operations::run(std::string_view operation, any_scan const& scan, operands& x, instrument::trace_buffer* trace, bool nvtx,
                          caller const& calls) const {
  auto const* const found = std::find_if(std::begin(entries), std::end(entries), [&](cuda_entry const& e) { return e.name == operation; });
  require<error>(found != std::end(entries), [&] { return std::string(operation) + " is no operation of policy cuda"; });
  auto const& exec = implementation_->exec;
  if (trace) found->traced({exec, instrument::tracing(*trace)}, scan, x, calls);
  else if (nvtx) found->marked({exec, implementation_->marks}, scan, x, calls);
  else found->plain({exec, instrument::none{}}, scan, x, calls);
}

std::shared_ptr<void const> cuda_operations::profiler_range() const { return std::make_shared<profile::profiler_range>(); }

}  // namespace mbirk::program
