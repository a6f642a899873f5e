// Weights, compiled counted.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_WEIGHT_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_WEIGHT_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::counting_context)

}  // namespace mbirk
