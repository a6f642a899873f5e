// Device kernels of filters, weights, denoiser and median filter, compiled for the emulated device.
#include "emulated_instances.hpp"

namespace mbirk {

MBIRK_DEVICE_OTHER_KERNELS(MBIRK_DEFINE_EMULATED_KERNEL, instances::emulated_backend, instances::emulated_scratch)

}  // namespace mbirk
