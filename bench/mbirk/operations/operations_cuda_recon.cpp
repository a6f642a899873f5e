// Iterative reconstruction over exec::cuda.
#include "mbirk/exec/cuda.hpp"
#include "operations/device_recon_instances.hpp"
#include "operations/operations_recon.hpp"
#include "operations/run_body_instances.hpp"

namespace mbirk::program {

template struct body_instances<recon_bodies, std::variant<context<exec::cuda, instrument::any>>>;
template struct recon_instances<context<exec::cuda, instrument::any>>;

}  // namespace mbirk::program
