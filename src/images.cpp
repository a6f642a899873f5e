// Histograms, denoiser and median filter, compiled.
#include "mbirk/instances/images.hpp"

namespace mbirk {

MBIRK_HISTOGRAM_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_DENOISER_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_MEDIAN_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_IMAGE_OPERATIONS(, instances::none_context)

}  // namespace mbirk
