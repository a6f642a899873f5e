// Denoiser, median filter and other operations on images, compiled counted.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_IMAGE_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_IMAGE_HOST_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_IMAGE_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::counting_context)
MBIRK_PARTITION_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::counting_context)

}  // namespace mbirk
