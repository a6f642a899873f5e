// The reconstructions of mbirk-mpi, declared here so that their templates are compiled apart.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mbirk/distributed/mpi.hpp"
#include "mbirk/distributed/slices.hpp"
#include "mbirk/distributed/views.hpp"
#include "operations/recon_run.hpp"

namespace mbirk::program {

/// See distributed::recon.
recon_log slab_recon(recon_context const& ctx, distributed::mpi const& ranks, distributed::parallel_slab const& slab,
                     view<float const, 3> sinogram, std::optional<view<float const, 3>> weights, view<float, 3> image,
                     recon_options const& options);

/// See distributed::recon in cone beam.
recon_log recon_by_views(recon_context const& ctx, distributed::mpi const& ranks, distributed::cone_views const& part,
                         view<float const, 3> sinogram, std::optional<view<float const, 3>> weights,
                         view<float, 3> image, recon_options const& options);

/// See distributed::fdk_recon.
void fdk_of_ranks(recon_context const& ctx, distributed::mpi const& ranks, distributed::cone_views const& part,
                  view<float const, 3> sinogram, view<float, 3> image, std::vector<std::string>& warnings);

}  // namespace mbirk::program
