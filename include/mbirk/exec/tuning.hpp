// Launch parameters of device kernels by compute capability, as values that can be compared and printed, with the
// source of each. Independent of the CUDA headers.
#pragma once

#include <string>

namespace mbirk::exec {

/// Launch parameters of one device generation. The numbers of blocks bound the registers of a kernel: a multiprocessor
/// has 65536, so 256 threads and 2 blocks leave 128 per thread.
struct tuning {
  int capability;                ///< compute capability, 90 for 9.0
  int warps_per_multiprocessor;  ///< resident warps that share the tasks of a pack kernel
  int parallel_back_blocks;      ///< blocks of 256 threads, with sums of 8 pixels x 128 slices in registers
  int cone_back_blocks;          ///< blocks of 256 threads, with sums of 4 pixels x 128 slices and their row weights

  friend constexpr bool operator==(tuning, tuning) = default;
};

/// The numbers of blocks are bounds that the compiler meets without spilling on this capability
/// (tests/codegen/kernel_limits.txt); the numbers of warps are those that fit side by side with up to 64 registers per
/// thread. None has been measured on a device yet.
inline constexpr tuning tunings[] = {
    {80, 32, 2, 2},   // A100: 64 warps fit
    {86, 32, 2, 2},   // GeForce 30: 48 warps fit
    {89, 32, 2, 2},   // GeForce 40, L40: 48 warps fit
    {90, 32, 2, 2},   // H100, H200: 64 warps fit
    {100, 32, 2, 2},  // B200: 64 warps fit
    {120, 32, 2, 2},  // GeForce 50: 48 warps fit
};

/// Parameters of the newest listed capability <= `capability`, else of the oldest.
constexpr tuning tuning_for(int capability) noexcept {
  tuning found = tunings[0];
  for (auto const& t : tunings)
    if (t.capability <= capability) found = t;
  return found;
}

/// Text such as "sm_90: 32 warps per multiprocessor, back projection 2 blocks (parallel), 2 blocks (cone)".
inline std::string to_string(tuning const& t) {
  auto const text = [](int n) { return std::to_string(n); };
  return "sm_" + text(t.capability) + ": " + text(t.warps_per_multiprocessor) +
         " warps per multiprocessor, back projection " + text(t.parallel_back_blocks) + " blocks (parallel), " +
         text(t.cone_back_blocks) + " blocks (cone)";
}

}  // namespace mbirk::exec
