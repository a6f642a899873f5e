// The projectors, the ramp filter, direct reconstruction and weights, compiled counted.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_PROJECTOR_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_PROJECTOR_HOST_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_PROJECTOR_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::counting_context)

MBIRK_FILTER_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_FILTER_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::counting_context)
MBIRK_DIRECT_RECON_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::counting_context)

MBIRK_WEIGHT_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_WEIGHT_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::counting_context)

}  // namespace mbirk
