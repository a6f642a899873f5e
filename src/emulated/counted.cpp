// All device kernels, compiled for the emulated device and counted.
#include "emulated_instances.hpp"

namespace mbirk {

MBIRK_EMULATED_KERNELS(DEFINE, instances::emulated_counted_backend, instances::emulated_counted_scratch)

}  // namespace mbirk
