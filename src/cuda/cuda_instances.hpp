// Device kernels compiled by nvcc once, for programs that link mbirk::compiled_cuda.
#pragma once

#include "mbirk/exec/cuda.cuh"
#include "mbirk/instances/host.hpp"

/// A kernel for devices only, and one that runs on warps as well as on the host.
#define MBIRK_DEFINE_CUDA_KERNEL(...)                                                                  \
  template void exec::detail::launch_on_stream<__VA_ARGS__>(__VA_ARGS__ const&, index3, cudaStream_t); \
  template bool exec::detail::describe_kernel<__VA_ARGS__>(cudaFuncAttributes&, int&);
#define MBIRK_DEFINE_CUDA_WARPS(Scratch, ...) MBIRK_DEFINE_CUDA_KERNEL(kernel::on_warps<__VA_ARGS__, Scratch>)

namespace mbirk::instances {

using cuda_backend = exec::cuda::backend;

}  // namespace mbirk::instances
