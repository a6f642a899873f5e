// Device kernels of iterative reconstruction, compiled for the emulated device and counted.
#include "emulated_instances.hpp"

namespace mbirk {

MBIRK_DEVICE_RECON_KERNELS(MBIRK_DEFINE_EMULATED_KERNEL, instances::emulated_counted_backend, instances::emulated_counted_scratch)

}  // namespace mbirk
