// Weights, compiled.
#include "mbirk/instances/weights.hpp"

namespace mbirk {

MBIRK_WEIGHT_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_WEIGHT_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::none_context)

}  // namespace mbirk
