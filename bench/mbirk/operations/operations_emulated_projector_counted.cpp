// Projectors over exec::emulated, counted.
#include "operations/block_operation_run.hpp"

namespace mbirk::program {

template struct counted_operation<body::forward_project>;
template struct counted_operation<body::back_project>;
template struct counted_operation<body::sparse_forward_project>;
template struct counted_operation<body::sparse_back_project>;
template struct counted_operation<body::hessian_diagonal>;

}  // namespace mbirk::program
