// Iterative reconstruction over exec::emulated, counted.
#include "operations/block_operation_run.hpp"

namespace mbirk::program {

template struct counted_operation<body::recon>;
template struct counted_operation<body::prox_map>;

}  // namespace mbirk::program
