// Iterative reconstruction over exec::cuda.
#include "block_operation_run.hpp"
#include "marked_operation_run.hpp"
#include "mbirk/exec/cuda.cuh"

namespace mbirk::program {

template struct block_operation<body::recon, exec::cuda>;
template struct block_operation<body::prox_map, exec::cuda>;

template struct marked_operation<body::recon>;
template struct marked_operation<body::prox_map>;

}  // namespace mbirk::program
