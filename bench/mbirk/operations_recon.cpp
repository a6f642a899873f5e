// Iterative reconstruction.
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/recon.hpp"
#include "operation_groups.hpp"

namespace mbirk::program {
namespace {

recon_options options_of(operands const& x) {
  auto o = x.settings;
  o.max_iterations = x.integer("max_iterations");
  o.stop_threshold_change_pct = *x.number("stop_threshold_change_pct");
  o.seed = static_cast<std::uint32_t>(x.integer("seed"));
  o.mbirjax_rounding = x.boolean("mbirjax_rounding");
  if (auto const image = x.optional_volume("init_recon")) o.init_recon = *image;
  return o;
}

/// Set-up (filter, direct image, its projection, Hessian diagonal) and two projections an iteration, of the pixels of its partition; the prior.
std::uint64_t least_flops(any_scan const& any, operands const& x, std::uint64_t prior) {
  return of_scan(any, [&](auto const& scan) {
    auto const o = options_of(x);
    std::uint64_t const once = projection_flops(scan, scan.full_indices());
    std::uint64_t total = hessian_flops(scan, x.inputs.contains("weights")) + once;
    if (!x.inputs.contains("init_recon")) total += filter_flops(scan) + once;
    auto const voxels = scan.full_indices().size() * static_cast<std::uint64_t>(scan.geometry().slices);
    return total + static_cast<std::uint64_t>(std::max(o.max_iterations, 0)) * (2 * once + prior * voxels);
  });
}

std::vector<argument_info> arguments(int iterations) {
  return {{"max_iterations", value_kind::integer, iterations}, {"stop_threshold_change_pct", value_kind::number, 0.0}, {"seed", value_kind::integer, 0},
          {"mbirjax_rounding", value_kind::boolean, true}};  // a case is there to be compared; the profile says false
}

}  // namespace

std::vector<operation> recon_operations() {
  using enum array_kind;
  input_info const sinogram_input{.name = "sinogram", .kind = sinogram}, weights{.name = "weights", .kind = sinogram, .required = false},
      init{.name = "init_recon", .kind = array_kind::recon, .required = false};
  auto prox_arguments = arguments(3);
  prox_arguments.push_back({"sigma_prox", value_kind::number, nullptr});
  return {
      {"recon", "recon", scans, on_host, {sinogram_input, weights, init}, arguments(15), array_kind::recon,
       on_scan([](auto const& ctx, auto const& scan, operands& x) {
         x.warnings = mbirk::recon(ctx, scan, x.volume("sinogram"), x.optional_volume("weights"), x.output_volume(), options_of(x)).warnings;
       }), [](any_scan const& any, operands const& x) { return least_flops(any, x, 74); }},
      {"prox_map", "recon", scans, on_host, {{.name = "prox_input", .kind = array_kind::recon}, sinogram_input, weights, init}, prox_arguments,
       array_kind::recon,
       on_scan([](auto const& ctx, auto const& scan, operands& x) {
         auto o = options_of(x);
         if (auto const sigma = x.number("sigma_prox")) o.sigma_prox = sigma;
         x.warnings = prox_map(ctx, scan, x.volume("prox_input"), x.volume("sinogram"), x.optional_volume("weights"), x.output_volume(), o).warnings;
       }), [](any_scan const& any, operands const& x) { return least_flops(any, x, 2); }},
  };
}

}  // namespace mbirk::program
