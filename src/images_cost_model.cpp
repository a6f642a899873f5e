// Histograms, denoiser and median filter, compiled under the cost model.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_HISTOGRAM_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_DENOISER_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_MEDIAN_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_IMAGE_OPERATIONS(, instances::cost_model_context)

}  // namespace mbirk
