// Iterative reconstruction of a scan that is larger than memory, declared here so that its templates compile apart.
#pragma once

#include "operations/recon_run.hpp"

namespace mbirk::program {

/// See distributed::recon_in_slabs.
recon_log recon_of_slabs(recon_context const& ctx, parallel_parameters const& whole,
                         distributed::slab_division const& division, distributed::slab_arrays const& arrays,
                         recon_options const& options);

}  // namespace mbirk::program
