// The operations on the emulated policy. MBIRK_EMULATION_SEED = 1, 2, 3 selects an order of blocks and threads.
// In addition, 1 checks for races, and 3 lets threads take turns at every few accesses on two workers.
#include <cstdlib>
#include <map>

#include "emulated_instances.hpp"
#include "mbirk/exec/emulated.hpp"

namespace mbirk::test {

/// Returns one device for all calls with this many threads, because making fibers takes longer than most kernels of the
/// tests. The race check and the address sanitizer get a new one, whose shared memory is no larger than a kernel needs.
/// Tests call this from one thread.
inline exec::emulated device(int threads) {
  static std::map<int, exec::emulated> devices;
  char const* const text = std::getenv("MBIRK_EMULATION_SEED");
  int const seed = text ? std::atoi(text) : 1;
  exec::emulation_options o{.seed = static_cast<std::uint64_t>(1000 * seed + threads)};
  o.check_races = seed == 1;
  if (seed == 3) {
    o.preempt = 7;
    o.workers = 2;
  }
  if (o.check_races || exec::emulation::address_sanitizer) return exec::emulated(o);
  return devices.try_emplace(threads, o).first->second;
}

}  // namespace mbirk::test

#include "device/implementation.hpp"
