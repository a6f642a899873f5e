// Reconstructions of ranks on emulated devices.
#include <memory>

#include "emulated_instances.hpp"
#include "mbirk/exec/emulated.hpp"
#include "ranks/devices/device_ranks.hpp"
#include "ranks/devices/make_ranks.hpp"

namespace mbirk::program {

std::unique_ptr<rank_reconstructor> make_emulated_ranks(rank_messages const& ranks, rank_notes const& notes,
                                                        int threads) {
  exec::emulation_options options;
  options.workers = threads;
  return std::make_unique<rank_on_device<exec::emulated>>(exec::emulated(options), ranks, notes);
}

}  // namespace mbirk::program
