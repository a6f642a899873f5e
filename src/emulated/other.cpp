// Device kernels of filters, weights, denoiser and median filter, compiled for the emulated device.
#include "emulated_instances.hpp"

namespace mbirk {

MBIRK_EMULATED_OTHER_KERNELS(DEFINE, instances::emulated_backend, instances::emulated_scratch)

}  // namespace mbirk
