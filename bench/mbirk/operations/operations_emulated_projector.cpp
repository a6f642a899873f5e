// Projectors over exec::emulated.
#include "operations/block_operation_run.hpp"

namespace mbirk::program {

template struct block_operation<body::forward_project, exec::emulated>;
template struct block_operation<body::back_project, exec::emulated>;
template struct block_operation<body::sparse_forward_project, exec::emulated>;
template struct block_operation<body::sparse_back_project, exec::emulated>;
template struct block_operation<body::hessian_diagonal, exec::emulated>;

}  // namespace mbirk::program
