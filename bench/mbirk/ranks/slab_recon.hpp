// The iterative reconstruction of mbirk-mpi, declared here so that its templates are compiled apart.
#pragma once

#include <optional>

#include "mbirk/distributed/mpi.hpp"
#include "mbirk/distributed/slices.hpp"
#include "operations/recon_run.hpp"

namespace mbirk::program {

/// See distributed::recon.
recon_log slab_recon(recon_context const& ctx, distributed::mpi const& ranks, distributed::parallel_slab const& slab,
                     view<float const, 3> sinogram, std::optional<view<float const, 3>> weights, view<float, 3> image,
                     recon_options const& options);

}  // namespace mbirk::program
