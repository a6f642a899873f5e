// The projectors, compiled counted.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_LAYOUT_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_PARALLEL_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_CONE_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_PROJECTOR_OPERATIONS(, instances::counting_context, parallel_geometry)
MBIRK_PROJECTOR_OPERATIONS(, instances::counting_context, cone_geometry)

}  // namespace mbirk
