// Iterative reconstruction on the host.
#include "operations/operations_recon.hpp"
#include "operations/run_body_instances.hpp"

namespace mbirk::program {

template struct body_instances<recon_bodies, any_context>;

}  // namespace mbirk::program
