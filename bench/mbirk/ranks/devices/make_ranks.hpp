// Functions that create the reconstructions of ranks on devices, for the program mbirk-mpi-devices.
#pragma once

#include "ranks/rank_reconstructor.hpp"

namespace mbirk::program {

/// See rank_devices. That of CUDA and the next one are defined where the program is built with CUDA.
rank_devices::factory make_emulated_ranks, make_cuda_ranks;
/// Gives the devices of a machine to its ranks in turn. @return how many ranks have the device of this one
/// @throws device_error
int choose_cuda_device(int rank, int ranks);

}  // namespace mbirk::program
