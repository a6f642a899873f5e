// The device policies of the programs mbirk-devices and mbirk-mpi-devices.
#include "operations/device_operations.hpp"
#include "operations/make_devices.hpp"

namespace mbirk::program {

device_factories const& devices_of_this_program() {
  static device_factories const all {
    .emulated = &make_emulated_operations,
#if defined(MBIRK_WITH_CUDA)
    .cuda = &make_cuda_operations,
#endif
  };
  return all;
}

}  // namespace mbirk::program
