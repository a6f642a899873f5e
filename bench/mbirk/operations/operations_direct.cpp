// Filters and direct reconstruction on the host.
#include "operations/operations_direct.hpp"
#include "operations/run_body_instances.hpp"

namespace mbirk::program {

template struct body_instances<direct_bodies, any_context>;

}  // namespace mbirk::program
