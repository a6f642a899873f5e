// The device policies of the program mbirk-mpi-devices.
#include "ranks/devices/make_ranks.hpp"

namespace mbirk::program {

rank_devices const& rank_devices_of_this_program() {
  static rank_devices const all {
    .emulated = &make_emulated_ranks,
#if defined(MBIRK_WITH_CUDA)
    .cuda = &make_cuda_ranks, .choose_cuda = &choose_cuda_device,
#endif
  };
  return all;
}

}  // namespace mbirk::program
