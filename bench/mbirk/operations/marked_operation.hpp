// Operations over exec::cuda with NVTX ranges. A header of its own, because NVTX comes with the CUDA toolkit.
#pragma once

#include "mbirk/exec/cuda.cuh"
#include "mbirk/instrument/nvtx.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

template <class Body> struct marked_operation {
  static void run(context<exec::cuda, instrument::nvtx> const& ctx, any_scan const& scan, operands& x, caller const& calls);
};

}  // namespace mbirk::program
