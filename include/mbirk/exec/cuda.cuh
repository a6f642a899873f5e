// The kernels of the CUDA policy, compiled from headers: needs nvcc, as every .cuh.
#pragma once

#include "mbirk/exec/block_cuda.cuh"
#include "mbirk/exec/cuda.hpp"

namespace mbirk::exec::detail {

/// Largest shared memory of a kernel, in bytes; a device has more only for kernels that ask for it when launched.
inline constexpr std::size_t most_static_shared = 48 * 1024;

/// Minimum number of resident blocks per multiprocessor: the kernel's value for the capability being compiled, or its
/// general one.
template <class Kernel> constexpr int blocks_of() {
#if defined(__CUDA_ARCH__)
  if constexpr (requires { Kernel::min_blocks(0); }) return Kernel::min_blocks(__CUDA_ARCH__ / 10);
#endif
  return Kernel::bounds.min_blocks;
}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::bounds.threads, blocks_of<Kernel>())
    run_block(__grid_constant__ Kernel const kernel) {
  using B = cuda_block<Kernel::bounds.threads>;
  using shared = typename Kernel::template shared<B>;
  static_assert(sizeof(shared) <= most_static_shared, "a kernel has at most 48 KiB of shared memory");
  __shared__ __align__(128) unsigned char raw[sizeof(shared)];
  kernel(B{}, *reinterpret_cast<shared*>(raw));
}

template <class Kernel> void launch_on_stream(Kernel const& kernel, index3 grid, cudaStream_t stream) {
  dim3 const blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), static_cast<unsigned>(grid.z));
  run_block<Kernel><<<blocks, Kernel::bounds.threads, 0, stream>>>(kernel);
  check_cuda(cudaGetLastError(), "launch of a kernel");
}

template <class Kernel> bool describe_kernel(cudaFuncAttributes& made, int& blocks) {
  bool const known = cudaFuncGetAttributes(&made, run_block<Kernel>) == cudaSuccess &&
                     cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, run_block<Kernel>, Kernel::bounds.threads,
                                                                   0) == cudaSuccess;
  return known;
}

}  // namespace mbirk::exec::detail
