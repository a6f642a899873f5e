// Iterative reconstruction over exec::cuda.
#include "mbirk/exec/cuda.cuh"
#include "operations/block_operation_run.hpp"
#include "operations/marked_operation_run.hpp"

namespace mbirk::program {

template struct block_operation<body::recon, exec::cuda>;
template struct block_operation<body::prox_map, exec::cuda>;

template struct marked_operation<body::recon>;
template struct marked_operation<body::prox_map>;

}  // namespace mbirk::program
