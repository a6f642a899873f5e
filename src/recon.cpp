// Iterative reconstruction, compiled.
#include "mbirk/instances/recon.hpp"

namespace mbirk {

MBIRK_RECON_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_RECON_HOST_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_RECON_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::none_context)

}  // namespace mbirk
