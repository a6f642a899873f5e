#include "operations/slab_recon.hpp"

#include "mbirk/distributed/recon_in_slabs.hpp"
#include "mbirk/instances/any.hpp"

namespace mbirk::program {

recon_log recon_of_slabs(recon_context const& ctx, parallel_parameters const& whole,
                         distributed::slab_division const& division, distributed::slab_arrays const& arrays,
                         recon_options const& options) {
  return distributed::recon_in_slabs(ctx, whole, division, arrays, options);
}

}  // namespace mbirk::program
