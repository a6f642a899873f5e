// Denoiser, median filter and other operations on images, compiled under the cost model.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_IMAGE_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_IMAGE_HOST_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_IMAGE_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::cost_model_context)
MBIRK_PARTITION_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::cost_model_context)

}  // namespace mbirk
