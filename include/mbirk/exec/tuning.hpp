// Launch parameters of device kernels, as values: one default, and rows for the devices that were measured. Independent
// of the CUDA headers.
#pragma once

#include <array>
#include <span>

namespace mbirk::exec {

/// Launch parameters of one device generation. The numbers of blocks bound the registers of a kernel: a multiprocessor
/// has 65536, so 256 threads and 2 blocks leave 128 per thread.
struct tuning {
  int warps_per_multiprocessor;  ///< resident warps that share the tasks of a pack kernel
  int parallel_back_blocks;      ///< blocks of 256 threads, with sums of 8 pixels x 128 slices in registers
  int cone_back_blocks;          ///< blocks of 256 threads, with sums of 4 pixels x 224 slices and their row weights

  friend constexpr bool operator==(tuning, tuning) = default;
};

/// Parameters of every device that has no row below. The numbers of blocks are bounds that the compiler meets without
/// spilling on sm_80, 90, 100 and 120 (tests/codegen/kernel_limits.txt); the number of warps is one that fits side by
/// side with up to 64 registers per thread. An H100 was measured with these (docs/results/2026-11-26_gpu.md).
inline constexpr tuning default_tuning{32, 2, 2};

/// Parameters that were measured on devices of a compute capability (90 for 9.0).
struct measured_tuning {
  int capability;
  tuning parameters;
};
/// A comment at each row names the device and the measurement.
inline constexpr std::array<measured_tuning, 0> measured_tunings{};

/// Parameters measured for `capability`, else the default.
constexpr tuning tuning_for(int capability, std::span<measured_tuning const> measured = measured_tunings) noexcept {
  for (auto const& row : measured)
    if (row.capability == capability) return row.parameters;
  return default_tuning;
}

}  // namespace mbirk::exec
