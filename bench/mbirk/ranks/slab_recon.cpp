#include "ranks/slab_recon.hpp"

#include "mbirk/distributed/direct_recon.hpp"
#include "mbirk/distributed/recon.hpp"
#include "mbirk/instances/any.hpp"

namespace mbirk::program {

recon_log slab_recon(recon_context const& ctx, distributed::mpi const& ranks, distributed::parallel_slab const& slab,
                     view<float const, 3> sinogram, std::optional<view<float const, 3>> weights, view<float, 3> image,
                     recon_options const& options) {
  return distributed::recon(ctx, ranks, slab, sinogram, weights, image, options);
}

recon_log recon_by_views(recon_context const& ctx, distributed::mpi const& ranks, distributed::cone_views const& part,
                         view<float const, 3> sinogram, std::optional<view<float const, 3>> weights,
                         view<float, 3> image, recon_options const& options) {
  return distributed::recon(ctx, ranks, part, sinogram, weights, image, options);
}

void fdk_of_ranks(recon_context const& ctx, distributed::mpi const& ranks, distributed::cone_views const& part,
                  view<float const, 3> sinogram, view<float, 3> image, std::vector<std::string>& warnings) {
  distributed::fdk_recon(ctx, ranks, part, sinogram, image, {}, &warnings);
}

}  // namespace mbirk::program
