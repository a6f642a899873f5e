// Kernels and operations of exec::host, compiled counted. As one source they take a quarter less time than as three.
#include "mbirk/instances/counting.hpp"

namespace mbirk {

MBIRK_ALL_KERNELS(MBIRK_DEFINE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_ALL_HOST_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::counting_context)

}  // namespace mbirk
