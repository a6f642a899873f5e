// Measured limits of this machine: the roofs with which operations are compared.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "mbirk/exec/host.hpp"

namespace mbirk::program {

/// A rate of all threads together over several tries.
struct measured_rate {
  double best = 0, median = 0;  ///< per second
};
/// Reading an array of `bytes` per thread repeatedly.
struct memory_level {
  std::string name;  ///< "L1", "L2", "L3", "DRAM"
  index_t bytes = 0;  ///< bytes per thread
  measured_rate read;
};
struct ceilings {
  int threads = 0;
  measured_rate fma;    ///< float32 fused multiply-adds (two flops each), from registers
  std::vector<memory_level> levels;
  index_t last_cache_bytes = 0;  ///< capacity of the last cache level, for all threads that share it
  double launch_seconds = 0;  ///< median time of an empty kernel on every thread
  measured_rate triad;  ///< bytes of a = b + s c over arrays larger than any cache, excluding the read before a write
};

/// Takes about a second. Waiting for a core does not count, but other processes that use caches and memory reduce the
/// rates; `best` is the least disturbed try.
ceilings measure_ceilings(exec::host const& exec);
/// The higher rates of two measurements of the same machine, either of which other processes may have disturbed.
ceilings higher(ceilings a, ceilings const& b);
nlohmann::json to_json(ceilings const& c);

}  // namespace mbirk::program
