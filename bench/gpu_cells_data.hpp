// Data of mbirk_gpu_cells, made on the device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace mbirk::cells {

/// Queues a kernel that fills n floats with numbers in [0, 1): a hash of the index, so every device gets equal values.
/// @throws device_error
void fill_random(float* to, std::size_t n, std::uint32_t seed, cudaStream_t stream);

}  // namespace mbirk::cells
