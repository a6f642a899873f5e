// Pixel partitions under the instrumentation that is chosen at run time, compiled.
#include "mbirk/instances/any.hpp"

namespace mbirk {

MBIRK_PARTITION_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::any_context)

}  // namespace mbirk
