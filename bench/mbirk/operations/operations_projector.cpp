// Projectors on the host.
#include "operations/operations_projector.hpp"
#include "operations/run_body_instances.hpp"

namespace mbirk::program {

template struct body_instances<projector_bodies, any_context>;

}  // namespace mbirk::program
