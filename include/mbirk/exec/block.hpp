// Interface of a block of threads as kernels use it: nvcc compiles it for a device and exec::emulated runs it on the
// host. Independent of the CUDA headers.
#pragma once

#include <concepts>
#include <cstdint>

#include "mbirk/core/config.hpp"
#include "mbirk/core/index.hpp"

namespace mbirk {

/// Index of a block in its grid, or the size of a grid.
struct index3 {
  int x = 0, y = 0, z = 0;
  friend MBIRK_HD constexpr bool operator==(index3 a, index3 b) noexcept {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
};

/// Threads per block (a multiple of 32) and the minimum number of resident blocks per multiprocessor: both bound the
/// registers of a kernel.
struct launch_bounds {
  int threads = 128, min_blocks = 1;
  friend constexpr bool operator==(launch_bounds, launch_bounds) = default;
};

/// Description of one kernel launch. Block kernels also give their shape and, where known, the result of compilation.
struct kernel_info {
  char const* name;  ///< a literal, or kernel_name<Kernel>()
  index_t tasks = 0;
  int workers = 1;
  index3 grid = {};
  int threads = 0;
  index_t shared_bytes = 0;
  /// Registers per thread; percent of the multiprocessor's maximum of resident warps. 0: not known.
  int registers = 0, occupancy = 0;
  /// Queries the device runtime for registers and occupancy. Deferred, because it would cost a call per launch.
  void (*describe)(void const* exec, kernel_info&) = nullptr;

  /// Copy that also has the execution policy's data on the compiled kernel.
  kernel_info described(void const* exec) const {
    kernel_info k = *this;
    if (describe) describe(exec, k);
    return k;
  }
};

inline constexpr int warp_lanes = 32;

/// Operations of a block that a kernel may use. Barriers and warp operations always involve all threads of the block or
/// warp.
///
/// B::template tile<T, N...>: shared memory with an element type and constant extents, called with one index each.
/// B::template pipe_storage<Stages>, b.open(storage): asynchronous copies into tiles, first in first out.
template <class B>
concept block = requires(B const& b, float x, bool p, typename B::template tile<float, 4, 8>& t,
                         typename B::template tile<std::int32_t, 8>& counts) {
  { b.rank() } -> std::same_as<int>;        // 0 .. B::size() - 1
  { B::size() } -> std::same_as<int>;       // number of threads, a constant
  { b.index() } -> std::same_as<index3>;    // position of the block in the grid
  { b.warp_rank() } -> std::same_as<int>;   // index of the thread's warp in the block
  b.sync();                                 // barrier for all threads of the block
  b.count(counts(1));                       // adds 1; threads may count in one place without a barrier
  { t(1, 2) } -> std::convertible_to<float>;
  { b.warp().lane() } -> std::same_as<int>;
  { b.warp().shfl(x, 3) } -> std::same_as<float>;
  { b.warp().shfl_xor(x, 3) } -> std::same_as<float>;
  { b.warp().ballot(p) } -> std::same_as<unsigned>;
  { b.warp().match(b.rank()) } -> std::same_as<unsigned>;  // the lanes that have the same integer
  { b.warp().sum(x) } -> std::same_as<float>;
  b.warp().sync();
};

}  // namespace mbirk
