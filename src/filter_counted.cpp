// The ramp filter, compiled counted.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_FILTER_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_FILTER_OPERATIONS(, instances::counting_context, parallel_geometry)
MBIRK_FILTER_OPERATIONS(, instances::counting_context, cone_geometry)

}  // namespace mbirk
