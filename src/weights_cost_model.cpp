// Weights, compiled under the cost model.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_WEIGHT_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_WEIGHT_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::cost_model_context)

}  // namespace mbirk
