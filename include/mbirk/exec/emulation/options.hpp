// How a launch of a block kernel is emulated on the host.
#pragma once

#include <cstdint>

namespace mbirk::exec {

/// Every combination must give a correct kernel the same results, up to the order of atomic additions of floats between blocks.
struct emulation_options {
  std::uint64_t seed = 0;     ///< order of blocks and threads; 0: ascending
  bool late_copies = false;   ///< asynchronous copies land in the first wait instead of at once; until then the stage holds NaN
  bool check_races = false;   ///< accesses to shared memory are compared: see emulation/shadow.hpp
  int preempt = 0;            ///< threads also take turns at every n-th access to shared memory on average; 0: only at barriers and warp operations
  int workers = 1;            ///< OS threads, each of which runs whole blocks
};

}  // namespace mbirk::exec
