// Projectors over exec::emulated.
#include "emulated_instances.hpp"
#include "mbirk/exec/emulated.hpp"
#include "operations/device_instances_run.hpp"

namespace mbirk::program {

template struct device_instances<exec::emulated, instrument::any, projector_bodies>;

}  // namespace mbirk::program
