// Device kernels of iterative reconstruction, compiled for the emulated device.
#include "emulated_instances.hpp"

namespace mbirk {

MBIRK_EMULATED_RECON_KERNELS(DEFINE, instances::emulated_backend, instances::emulated_scratch)

}  // namespace mbirk
