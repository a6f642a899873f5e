// Kernels and operations of exec::host, compiled under the cost model.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_ALL_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_ALL_HOST_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::cost_model_context)

}  // namespace mbirk
