// The ramp filter and direct reconstruction, compiled.
#include "mbirk/instances/direct_recon.hpp"

namespace mbirk {

MBIRK_FILTER_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_FILTER_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::none_context)
MBIRK_DIRECT_RECON_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::none_context)

}  // namespace mbirk
