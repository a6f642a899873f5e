// Options for emulating a kernel launch on the host.
#pragma once

#include <cstdint>

namespace mbirk::exec {

/// A correct kernel gives the same results for every combination, up to the order of atomic additions of floats between
/// blocks.
struct emulation_options {
  std::uint64_t seed = 0;     ///< order of blocks and threads; 0: ascending
  /// Asynchronous copies land in the first wait, not at once; until then the stage holds NaN.
  bool late_copies = false;
  bool check_races = false;   ///< checks accesses to shared memory for races, see emulation/shadow.hpp
  /// Threads also switch at every n-th access to shared memory on average; 0: only at barriers and warp operations.
  int preempt = 0;
  int workers = 1;            ///< OS threads, each of which runs whole blocks
};

}  // namespace mbirk::exec
