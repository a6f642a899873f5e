#include "operations/recon_run.hpp"

#include "mbirk/instances/any.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/fan_recon.hpp"
#include "mbirk/recon/recon.hpp"
#include "mbirk/recon/weights.hpp"

namespace mbirk::program {

std::vector<std::string> filtered_recon(recon_context const& ctx, recon_scan const& any, view<float const, 3> sinogram,
                                        view<float, 3> recon) {
  std::vector<std::string> warnings;
  std::visit([&]<class Geometry>(scan<Geometry> const& s) {
    if constexpr (has_direct_recon<Geometry>) direct_recon(ctx, s, sinogram, recon, {}, &warnings);
    else throw error(std::string(Geometry::beam) + " have no direct reconstruction, expected method vcd",
                     source_location::current());
  }, any);
  return warnings;
}

void fan_filtered_recon(recon_context const& ctx, cone_parameters const& p, view<float const, 3> sinogram,
                        view<float, 3> recon) {
  fan_recon(ctx, p, sinogram, recon);
}

recon_log vcd_recon(recon_context const& ctx, recon_scan const& any, view<float const, 3> sinogram,
                    std::optional<view<float const, 3>> weights, view<float, 3> recon, recon_options const& options) {
  return std::visit([&](auto const& scan) { return mbirk::recon(ctx, scan, sinogram, weights, recon, options); }, any);
}

std::vector<std::string> weight_names() { return {weight_type_names.begin(), weight_type_names.end()}; }

void sinogram_weights(recon_context const& ctx, std::string const& type, view<float const, 3> sinogram,
                      view<float, 3> weights) {
  gen_weights(ctx, sinogram, parse_weight_type(type), weights);
}

}  // namespace mbirk::program
