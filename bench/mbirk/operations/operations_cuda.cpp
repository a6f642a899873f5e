// The table of operations over exec::cuda, and the description of the device.
#include <memory>
#include <string>

#include "mbirk/exec/cuda.hpp"
#include "mbirk/instrument/nvtx.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "mbirk/profile/profiler_range.hpp"
#include "operations/device_recon.hpp"
#include "operations/make_devices.hpp"
#include "operations/operations_all.hpp"
#include "operations/run_body.hpp"

namespace mbirk::program {
namespace {

/// 13020 is 13.2.
std::string version_text(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

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
  double const flops =
      2.0 * units_of(properties.major, properties.minor) * properties.multiProcessorCount * clock_khz * 1e3;
  double const bytes = 2.0 * memory_khz * 1e3 * properties.memoryBusWidth / 8;  // twice a clock
  return {.device = properties.name,
          .runtime = version_text(runtime),
          .driver = version_text(driver),
          .capability = std::to_string(properties.major) + '.' + std::to_string(properties.minor),
          .major = properties.major,
          .minor = properties.minor,
          .multiprocessors = properties.multiProcessorCount,
          .clock_khz = clock_khz,
          .memory_bytes = properties.totalGlobalMem,
          .peak_tflops = flops * 1e-12,
          .memory_gbs = bytes * 1e-9};
}

class cuda_operations final : public device_operations {
 public:
  void run(operation const& op, any_scan const& scan, operands& x, device_observation const& what,
           caller const& calls) const override {
    auto const observe = what.trace  ? instrument::any(exec_, instrument::tracing(*what.trace))
                         : what.nvtx ? instrument::any(exec_, marks_)
                                     : instrument::any();
    run_on_device(all_bodies(), op.body, context{exec_, observe}, scan, x, calls);
  }
  std::unique_ptr<reconstructor> recon(instrument::live_sites& memory) const override {
    std::size_t free = 0, total = 0;
    exec::check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return std::make_unique<device_reconstructor<exec::cuda>>(exec_, instrument::any(exec_, instrument::live(memory)),
                                                              static_cast<double>(free));
  }
  cuda_description const* description() const noexcept override { return &description_; }
  std::shared_ptr<void const> profiler_range() const override { return std::make_shared<profile::profiler_range>(); }

 private:
  exec::cuda exec_{};
  instrument::nvtx marks_{};
  cuda_description description_ = describe();
};

}  // namespace

std::unique_ptr<device_operations> make_cuda_operations() { return std::make_unique<cuda_operations>(); }

}  // namespace mbirk::program
