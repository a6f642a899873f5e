// Iterative reconstruction over exec::emulated.
#include "emulated_instances.hpp"
#include "mbirk/exec/emulated.hpp"
#include "operations/device_recon_instances.hpp"
#include "operations/operations_recon.hpp"
#include "operations/run_body_instances.hpp"

namespace mbirk::program {

template struct body_instances<recon_bodies, std::variant<context<exec::emulated, instrument::any>>>;
template struct recon_instances<context<exec::emulated, instrument::any>>;

}  // namespace mbirk::program
