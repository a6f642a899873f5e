// Projectors over exec::cuda.
#include "mbirk/exec/cuda.cuh"
#include "operations/block_operation_run.hpp"
#include "operations/marked_operation_run.hpp"

namespace mbirk::program {

template struct block_operation<body::forward_project, exec::cuda>;
template struct block_operation<body::back_project, exec::cuda>;
template struct block_operation<body::sparse_forward_project, exec::cuda>;
template struct block_operation<body::sparse_back_project, exec::cuda>;
template struct block_operation<body::hessian_diagonal, exec::cuda>;

template struct marked_operation<body::forward_project>;
template struct marked_operation<body::back_project>;
template struct marked_operation<body::sparse_forward_project>;
template struct marked_operation<body::sparse_back_project>;
template struct marked_operation<body::hessian_diagonal>;

}  // namespace mbirk::program
