// The projectors, compiled.
#include "mbirk/instances/projectors.hpp"

namespace mbirk {

MBIRK_PROJECTOR_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_PROJECTOR_HOST_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_PROJECTOR_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::none_context)

}  // namespace mbirk
