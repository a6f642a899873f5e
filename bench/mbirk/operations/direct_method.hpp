// Direct reconstruction of any scan that has one, under any policy.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "operations/recon_run.hpp"

namespace mbirk::program {

/// direct_recon. Returns warnings. @throws error for a geometry without a direct reconstruction
template <class Context>
std::vector<std::string> direct_recon_of_any(Context const& ctx, recon_scan const& any, view<float const, 3> sinogram,
                                             view<float, 3> recon) {
  std::vector<std::string> warnings;
  std::visit([&]<class Geometry>(scan<Geometry> const& s) {
    if constexpr (has_direct_recon<Geometry>) direct_recon(ctx, s, sinogram, recon, {}, &warnings);
    else throw error(std::string(Geometry::beam) + " have no direct reconstruction, expected method vcd",
                     source_location::current());
  }, any);
  return warnings;
}

}  // namespace mbirk::program
