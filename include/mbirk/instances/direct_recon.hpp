// Direct reconstruction, as mbirk::compiled holds it. Its kernels are those of the ramp filter and of the projectors.
#pragma once

#include "mbirk/instances/filter.hpp"
#include "mbirk/instances/projectors.hpp"
#include "mbirk/recon/direct_recon.hpp"

#define MBIRK_DIRECT_RECON_OF(X, C, G)                                                                             \
  X(C, G, direct_recon, detail::direct_recon_as,                                                                   \
    (C const& c, scan<G> const& s, view<float const, 3> sinogram, view<float, 3> recon,                            \
     filter_options const& options, std::vector<std::string>* warnings, char const* operation, char const* array), \
    (c, s, sinogram, recon, options, warnings, operation, array), void)
#define MBIRK_DIRECT_RECON_OPERATIONS(X, C) MBIRK_EACH_DIRECT_GEOMETRY(MBIRK_DIRECT_RECON_OF, X, C)

namespace mbirk {

MBIRK_DIRECT_RECON_OPERATIONS(MBIRK_DECLARE_OPERATION, instances::none_context)

}  // namespace mbirk
