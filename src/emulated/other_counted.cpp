// Device kernels of filters, weights, denoiser and median filter, compiled for the emulated device and counted.
#include "emulated_instances.hpp"

namespace mbirk {

MBIRK_EMULATED_OTHER_KERNELS(DEFINE, instances::emulated_counted_backend, instances::emulated_counted_scratch)

}  // namespace mbirk
