// The projectors, compiled under the cost model.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_LAYOUT_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_PARALLEL_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_CONE_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_PROJECTOR_OPERATIONS(, instances::cost_model_context, parallel_geometry)
MBIRK_PROJECTOR_OPERATIONS(, instances::cost_model_context, cone_geometry)

}  // namespace mbirk
