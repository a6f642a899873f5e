// Projectors over exec::cuda.
#include "mbirk/exec/cuda.cuh"
#include "operations/device_instances_run.hpp"

namespace mbirk::program {

template struct device_instances<exec::cuda, instrument::any, projector_bodies>;

}  // namespace mbirk::program
