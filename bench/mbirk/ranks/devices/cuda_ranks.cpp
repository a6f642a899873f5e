// Reconstructions of ranks on CUDA devices.
#include <memory>

#include "mbirk/exec/cuda.hpp"
#include "ranks/devices/device_ranks.hpp"
#include "ranks/devices/make_ranks.hpp"

namespace mbirk::program {

std::unique_ptr<rank_reconstructor> make_cuda_ranks(rank_messages const& ranks, rank_notes const& notes,
                                                    int) {
  return std::make_unique<rank_on_device<exec::cuda>>(exec::cuda{}, ranks, notes);
}

int choose_cuda_device(int rank, int ranks) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return 1;  // exec::cuda says why
  int const chosen = rank % devices;
  exec::check_cuda(cudaSetDevice(chosen), "cudaSetDevice");
  return (ranks - chosen + devices - 1) / devices;
}

}  // namespace mbirk::program
