// Denoiser, median filter and other operations on images, compiled.
#include "mbirk/instances/images.hpp"

namespace mbirk {

MBIRK_IMAGE_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_IMAGE_HOST_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_IMAGE_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::none_context)

}  // namespace mbirk
