// Iterative reconstruction, compiled.
#include "mbirk/instances/recon.hpp"

namespace mbirk {

MBIRK_VCD_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_REGULARIZATION_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_RECON_OPERATIONS(, instances::none_context, parallel_geometry)
MBIRK_RECON_OPERATIONS(, instances::none_context, cone_geometry)

}  // namespace mbirk
