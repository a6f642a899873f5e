// Costs of the device kernels per unit of their work, from the code that nvcc makes of them. bench/predict_gpu.py
// writes the table, data/kernel_costs.json.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace mbirk::program::gpu {

/// Cost of one unit of a kernel's work, or of a launch: warp instructions by the pipe that executes them, requests, and
/// the time of a warp that runs alone.
struct cost {
  double issue = 0;                                     ///< all instructions
  double fma = 0, integer = 0, fp64 = 0, special = 0;   ///< by pipe
  double wavefronts = 0;                                ///< of the load and store unit: 128 bytes each
  double loads = 0, stores = 0;                         ///< requests to global memory
  double clocks = 0;                                    ///< of a lone warp, without waiting for global memory
  double rounds = 0;                                    ///< times that it waits for global memory

  cost& operator+=(cost const& o);
  friend cost operator*(double n, cost c);
};

/// The compiled code of a kernel for one capability. Variants are numbers of packs per chunk; "" if there is one.
struct kernel_code {
  int registers = 0, shared_bytes = 0;
  std::map<std::string, std::map<std::string, cost, std::less<>>, std::less<>> units;
};

/// The code of a kernel, such as "parallel_gather" or "vcd_direction<qggmrf_cylinder>". Null if there is none.
kernel_code const* find_kernel(std::string_view name, int capability);

}  // namespace mbirk::program::gpu
