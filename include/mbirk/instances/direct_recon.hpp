// Direct reconstruction, as mbirk::compiled holds it. Its kernels are those of the ramp filter and of the projectors.
#pragma once

#include "mbirk/instances/filter.hpp"
#include "mbirk/instances/projectors.hpp"
#include "mbirk/recon/direct_recon.hpp"

#define MBIRK_DIRECT_RECON_OF(E, C, G)                                                                    \
  E template void detail::direct_recon_as(C const&, scan<G> const&, view<float const, 3>, view<float, 3>, \
                                          filter_options const&, std::vector<std::string>*, char const*,  \
                                          char const*);
#define MBIRK_DIRECT_RECON_OPERATIONS(E, C) MBIRK_EACH_GEOMETRY(MBIRK_DIRECT_RECON_OF, E, C)

namespace mbirk {

MBIRK_DIRECT_RECON_OPERATIONS(extern, instances::none_context)

}  // namespace mbirk
