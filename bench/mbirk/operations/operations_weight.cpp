// Weights on the host.
#include "operations/operations_weight.hpp"
#include "operations/run_body_instances.hpp"

namespace mbirk::program {

template struct body_instances<weight_bodies, any_context>;

}  // namespace mbirk::program
