// The projectors, compiled.
#include "mbirk/instances/projectors.hpp"

namespace mbirk {

MBIRK_SCANS()
MBIRK_LAYOUT_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_PARALLEL_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_CONE_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_PROJECTOR_OPERATIONS(, instances::none_context, parallel_geometry)
MBIRK_PROJECTOR_OPERATIONS(, instances::none_context, cone_geometry)

}  // namespace mbirk
