// The reconstructions that `mbirk recon` runs, over whichever scan there is. Declared here so that the templates of the library are compiled once.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "mbirk/context.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/instrument/any.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::program {

using recon_scan = std::variant<parallel_scan, cone_scan>;
/// Long work shows its memory to `mbirk top`.
using recon_context = context<exec::host, instrument::any>;

/// Filtered back projection (parallel beam) or FDK (cone beam). Returns what is worth saying. @throws mbirk::error
std::vector<std::string> filtered_recon(recon_context const& ctx, recon_scan const& scan, view<float const, 3> sinogram, view<float, 3> recon);

/// Iterative reconstruction, mbirk::recon. @throws mbirk::error
recon_log vcd_recon(recon_context const& ctx, recon_scan const& scan, view<float const, 3> sinogram, std::optional<view<float const, 3>> weights,
                       view<float, 3> recon, recon_options const& options);

/// The weights that sinogram_weights knows.
std::vector<std::string> weight_names();
/// Weights of a sinogram, by a name of weight_names. @throws mbirk::error
void sinogram_weights(recon_context const& ctx, std::string const& type, view<float const, 3> sinogram, view<float, 3> weights);

}  // namespace mbirk::program
