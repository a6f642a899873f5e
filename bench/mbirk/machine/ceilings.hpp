// What this machine can do at most, measured: the roofs that operations are held against.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mbirk/exec/host.hpp"

namespace mbirk::program {

/// A rate, all threads together, over several tries.
struct measured_rate {
  double best = 0, median = 0;  ///< per second
};
/// Reading an array of so many bytes a thread again and again.
struct memory_level {
  std::string name;  ///< "L1", "L2", "L3", "DRAM"
  index_t bytes = 0;  ///< of a thread
  measured_rate read;
};
struct ceilings {
  int threads = 0;
  measured_rate fma;    ///< float32 fused multiply-adds (two flops each), from registers
  std::vector<memory_level> levels;
  index_t last_cache_bytes = 0;  ///< what the last level of cache holds, of all threads that share it
  double launch_seconds = 0;  ///< median of a kernel that does nothing, on every thread
  measured_rate triad;  ///< bytes of a = b + s c over arrays that no cache holds, without what a write reads first
};

/// Takes about a second. Waiting for a core does not count, but what other processes take of caches and memory makes rates too low; `best` is the least
/// disturbed try.
ceilings measure_ceilings(exec::host const& exec);
/// The higher rates of two measurements of the same machine, which other processes may have disturbed.
ceilings higher(ceilings a, ceilings const& b);
nlohmann::json to_json(ceilings const& c);

/// Load averages of 1, 5 and 15 minutes as /proc/loadavg has them; empty where there is none.
std::string load_average();

}  // namespace mbirk::program
