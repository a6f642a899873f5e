// Pixel partitions, compiled.
#include "mbirk/instances/images.hpp"

namespace mbirk {

MBIRK_PARTITION_OPERATIONS(MBIRK_DEFINE_OPERATION, instances::none_context)

}  // namespace mbirk
