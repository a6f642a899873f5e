// All operations, in the order of the table.
#pragma once

#include "operations/operations_direct.hpp"
#include "operations/operations_image.hpp"
#include "operations/operations_projector.hpp"
#include "operations/operations_recon.hpp"
#include "operations/operations_weight.hpp"

namespace mbirk::program {

using all_bodies = joined<projector_bodies, direct_bodies, recon_bodies, weight_bodies, image_bodies>;

}  // namespace mbirk::program
