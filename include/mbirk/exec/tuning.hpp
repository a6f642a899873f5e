// Launch parameters of device kernels by compute capability: values that can be compared and printed, and where each comes from. Includes nothing of CUDA.
#pragma once

#include <string>

namespace mbirk::exec {

/// How kernels are cut for a device. The numbers of blocks bound the registers of a kernel: 65536 of them in a multiprocessor, so 256 threads and
/// 2 blocks leave 128 for each.
struct tuning {
  int capability;                ///< 90 for 9.0
  int warps_per_multiprocessor;  ///< that share the tasks of a pack kernel
  int parallel_back_blocks;      ///< of 256 threads, with sums of 8 pixels x 128 slices in registers
  int cone_back_blocks;          ///< of 256 threads, with sums of 4 pixels x 128 slices and their weights in rows

  friend constexpr bool operator==(tuning, tuning) = default;
};

/// Where the values come from: bounds that the compiler keeps without spilling on this capability (tests/codegen/kernel_limits.txt), and as many warps
/// as fit beside each other at up to 64 registers. None has been measured on a device yet.
inline constexpr tuning tunings[] = {
    {80, 32, 2, 2},   // A100: 64 warps fit
    {86, 32, 2, 2},   // GeForce 30: 48 warps fit
    {89, 32, 2, 2},   // GeForce 40, L40: 48 warps fit
    {90, 32, 2, 2},   // H100, H200: 64 warps fit
    {100, 32, 2, 2},  // B200: 64 warps fit
    {120, 32, 2, 2},  // GeForce 50: 48 warps fit
};

/// Of the newest capability that is listed and not newer than this one; of the oldest for those before it.
constexpr tuning tuning_for(int capability) noexcept {
  tuning found = tunings[0];
  for (auto const& t : tunings)
    if (t.capability <= capability) found = t;
  return found;
}

/// "sm_90: 32 warps per multiprocessor, back projection 2 blocks (parallel), 2 blocks (cone)"
inline std::string to_string(tuning const& t) {
  auto const text = [](int n) { return std::to_string(n); };
  return "sm_" + text(t.capability) + ": " + text(t.warps_per_multiprocessor) + " warps per multiprocessor, back projection " + text(t.parallel_back_blocks) +
         " blocks (parallel), " + text(t.cone_back_blocks) + " blocks (cone)";
}

}  // namespace mbirk::exec
