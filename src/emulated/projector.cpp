// Device kernels of projectors, compiled for the emulated device.
#include "emulated_instances.hpp"

namespace mbirk {

MBIRK_EMULATED_PROJECTOR_KERNELS(DEFINE, instances::emulated_backend, instances::emulated_scratch)

}  // namespace mbirk
