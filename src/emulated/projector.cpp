// Device kernels of projectors, compiled for the emulated device.
#include "emulated_instances.hpp"

namespace mbirk {

MBIRK_DEVICE_PROJECTOR_KERNELS(MBIRK_DEFINE_EMULATED_KERNEL, instances::emulated_backend, instances::emulated_scratch)

}  // namespace mbirk
