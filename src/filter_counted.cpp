// The ramp filter and direct reconstruction, compiled counted.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_FILTER_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_FILTER_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::counting_context)
MBIRK_DIRECT_RECON_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::counting_context)

}  // namespace mbirk
