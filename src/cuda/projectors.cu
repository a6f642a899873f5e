// Device kernels of the projectors, compiled for CUDA.
#include "cuda_instances.hpp"

namespace mbirk {

MBIRK_PROJECTOR_KERNELS(MBIRK_DEFINE_CUDA_WARPS, instances::cuda_backend, instances::native_scratch)
MBIRK_PROJECTOR_DEVICE_KERNELS(MBIRK_DEFINE_CUDA_KERNEL, instances::cuda_backend)

}  // namespace mbirk
