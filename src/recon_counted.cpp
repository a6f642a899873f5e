// Iterative reconstruction, compiled counted.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_VCD_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_REGULARIZATION_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_RECON_OPERATIONS(, instances::counting_context, parallel_geometry)
MBIRK_RECON_OPERATIONS(, instances::counting_context, cone_geometry)

}  // namespace mbirk
