// What a block of threads offers to a kernel: the vocabulary that nvcc compiles for a device and that exec::emulated runs on the host.
// Includes nothing of CUDA.
#pragma once

#include <concepts>

#include "mbirk/core/config.hpp"
#include "mbirk/core/index.hpp"

namespace mbirk {

/// Place of a block in its grid, or the size of a grid.
struct index3 {
  int x = 0, y = 0, z = 0;
  friend MBIRK_HD constexpr bool operator==(index3 a, index3 b) noexcept { return a.x == b.x && a.y == b.y && a.z == b.z; }
};

/// Threads of a block, a multiple of 32, and blocks that a multiprocessor shall hold at least: both bound the registers of a kernel.
struct launch_bounds {
  int threads = 128, min_blocks = 1;
  friend constexpr bool operator==(launch_bounds, launch_bounds) = default;
};

/// One launch of a kernel. Of a block kernel also its shape, and what the compiler made of it where that is known.
struct kernel_info {
  char const* name;  ///< a literal, or kernel_name<Kernel>()
  index_t tasks = 0;
  int workers = 1;
  index3 grid = {};
  int threads = 0;
  index_t shared_bytes = 0;
  int registers = 0, occupancy = 0;  ///< of a thread; percent of the warps that a multiprocessor holds. 0: not known
  void (*describe)(void const* exec, kernel_info&) = nullptr;  ///< asks the runtime of the device for the line above, which is a call for each launch

  /// With what the execution policy knows of the compiled kernel.
  kernel_info described(void const* exec) const {
    kernel_info k = *this;
    if (describe) describe(exec, k);
    return k;
  }
};

inline constexpr int warp_lanes = 32;

/// What a kernel may ask of its block. Barriers and warp operations always take all threads of the block or warp.
///
/// B::template tile<T, N...>: shared memory of an element type and constant extents, one index per dimension by call operator.
/// B::template pipe_storage<Stages>, b.open(storage): asynchronous copies into tiles, first in first out.
/// b.template dynamic<T>(offset, n): shared memory whose size was given at launch.
template <class B>
concept block = requires(B const& b, float x, float& global, bool p, typename B::template tile<float, 4, 8>& t) {
  { b.rank() } -> std::same_as<int>;        // 0 .. B::size() - 1
  { B::size() } -> std::same_as<int>;       // threads, a constant
  { b.index() } -> std::same_as<index3>;    // of the block in the grid
  { b.warp_rank() } -> std::same_as<int>;   // of the thread's warp in the block
  b.sync();                                 // all threads of the block
  b.atomic_add(global, x);                  // global or shared
  b.atomic_add(t(1, 2), x);
  { b.load(global) } -> std::convertible_to<float>;  // of memory that nobody writes during the launch
  { b.uniform(7) } -> std::same_as<int>;    // a promise: equal in all lanes of the warp
  { b.warp().lane() } -> std::same_as<int>;
  { b.warp().shfl(x, 3) } -> std::same_as<float>;
  { b.warp().shfl_xor(x, 3) } -> std::same_as<float>;
  { b.warp().ballot(p) } -> std::same_as<unsigned>;
  { b.warp().sum(x) } -> std::same_as<float>;
  { b.warp().min(x) } -> std::same_as<float>;
  { b.warp().max(x) } -> std::same_as<float>;
  b.warp().sync();
};

}  // namespace mbirk
