// Projectors over exec::cuda.
#include "mbirk/exec/cuda.hpp"
#include "operations/operations_projector.hpp"
#include "operations/run_body_instances.hpp"

namespace mbirk::program {

template struct body_instances<projector_bodies, std::variant<context<exec::cuda, instrument::any>>>;

}  // namespace mbirk::program
