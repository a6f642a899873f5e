// The projectors, the ramp filter, direct reconstruction and weights, compiled under the cost model.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_PROJECTOR_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_PROJECTOR_HOST_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_PROJECTOR_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::cost_model_context)

MBIRK_FILTER_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_FILTER_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::cost_model_context)
MBIRK_DIRECT_RECON_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::cost_model_context)

MBIRK_WEIGHT_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_WEIGHT_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::cost_model_context)

}  // namespace mbirk
