// Filters, weights and operations on images over exec::cuda.
#include "mbirk/exec/cuda.hpp"
#include "operations/operations_direct.hpp"
#include "operations/operations_image.hpp"
#include "operations/operations_weight.hpp"
#include "operations/run_body_instances.hpp"

namespace mbirk::program {

template struct body_instances<joined<direct_bodies, weight_bodies, image_bodies>,
                               std::variant<context<exec::cuda, instrument::any>>>;

}  // namespace mbirk::program
