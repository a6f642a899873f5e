// The ramp filter and direct reconstruction, compiled under the cost model.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_FILTER_KERNELS(MBIRK_DEFINE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_FILTER_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::cost_model_context)
MBIRK_DIRECT_RECON_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::cost_model_context)

}  // namespace mbirk
