// Iterative reconstruction over exec::emulated.
#include "operations/block_operation_run.hpp"

namespace mbirk::program {

template struct block_operation<body::recon, exec::emulated>;
template struct block_operation<body::prox_map, exec::emulated>;

}  // namespace mbirk::program
