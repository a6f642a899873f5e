// Histograms, denoiser and median filter, compiled counted.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_HISTOGRAM_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_DENOISER_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_MEDIAN_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_IMAGE_OPERATIONS(, instances::counting_context)

}  // namespace mbirk
