// Data of mbirk_gpu_cells, made on the device.
#include "gpu_cells_data.hpp"

#include "mbirk/exec/cuda.hpp"

namespace mbirk::cells {
namespace {

__global__ void fill(float* to, std::size_t n, std::uint32_t seed) {
  for (std::size_t k = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; k < n;
       k += static_cast<std::size_t>(gridDim.x) * blockDim.x) {
    auto x = static_cast<std::uint32_t>(k) * 0x9e3779b9u ^ static_cast<std::uint32_t>(k >> 32) ^ seed;
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    to[k] = static_cast<float>((x ^ (x >> 16)) >> 8) * 0x1p-24f;
  }
}

}  // namespace

void fill_random(float* to, std::size_t n, std::uint32_t seed, cudaStream_t stream) {
  fill<<<4096, 256, 0, stream>>>(to, n, seed);
  exec::check_cuda(cudaGetLastError(), "launch of fill_random");
}

}  // namespace mbirk::cells
