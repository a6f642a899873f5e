// Calls for scans that have a direct reconstruction.
#pragma once

#include <string>
#include <variant>

#include "mbirk/core/error.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "operations/recon_run.hpp"

namespace mbirk::program {

/// f(scan). @throws error for a geometry without a direct reconstruction
template <class F> void with_direct_recon(recon_scan const& any, F const& f) {
  std::visit([&]<class Geometry>(scan<Geometry> const& s) {
    if constexpr (has_direct_recon<Geometry>) f(s);
    else throw error(std::string(Geometry::beam) + " have no direct reconstruction, expected method vcd",
                     source_location::current());
  }, any);
}

}  // namespace mbirk::program
