// Device kernels of reconstruction, filters, weights and operations on images, compiled for CUDA.
#include "cuda_instances.hpp"

namespace mbirk {

MBIRK_RECON_KERNELS(MBIRK_DEFINE_CUDA_WARPS, instances::cuda_backend, instances::native_scratch)
MBIRK_RECON_DEVICE_KERNELS(MBIRK_DEFINE_CUDA_KERNEL, instances::cuda_backend, instances::native_scratch)
MBIRK_FILTER_KERNELS(MBIRK_DEFINE_CUDA_WARPS, instances::cuda_backend, instances::native_scratch)
MBIRK_FILTER_DEVICE_KERNELS(MBIRK_DEFINE_CUDA_KERNEL, instances::cuda_backend)
MBIRK_WEIGHT_KERNELS(MBIRK_DEFINE_CUDA_WARPS, instances::cuda_backend, instances::native_scratch)
MBIRK_IMAGE_KERNELS(MBIRK_DEFINE_CUDA_WARPS, instances::cuda_backend, instances::native_scratch)
MBIRK_IMAGE_DEVICE_KERNELS(MBIRK_DEFINE_CUDA_KERNEL, instances::cuda_backend)

}  // namespace mbirk
