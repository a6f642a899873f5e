// The ramp filter, compiled.
#include "mbirk/instances/filter.hpp"

namespace mbirk {

MBIRK_FILTER_KERNELS(MBIRK_DEFINE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_FILTER_OPERATIONS(, instances::none_context, parallel_geometry)
MBIRK_FILTER_OPERATIONS(, instances::none_context, cone_geometry)

}  // namespace mbirk
