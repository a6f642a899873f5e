// Operations on images on the host.
#include "operations/operations_image.hpp"
#include "operations/run_body_instances.hpp"

namespace mbirk::program {

template struct body_instances<image_bodies, any_context>;

}  // namespace mbirk::program
