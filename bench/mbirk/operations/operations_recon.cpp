// Iterative reconstruction.
#include "operations/operation_groups.hpp"

namespace mbirk::program {
namespace {

/// Minimal flops: set-up (filter, direct image, its projection, Hessian diagonal), two projections of the partition's
/// pixels per iteration, and the prior.
std::uint64_t least_flops(any_scan const& any, operands const& x, std::uint64_t prior) {
  return of_scan(any, [&](auto const& scan) {
    std::uint64_t const once = projection_flops(scan, scan.full_indices());
    std::uint64_t total = hessian_flops(scan, x.inputs.contains("weights")) + once;
    if (!x.inputs.contains("init_recon")) total += filter_flops(scan) + once;
    auto const voxels = scan.full_indices().size() * static_cast<std::uint64_t>(scan.geometry().slices);
    return total + static_cast<std::uint64_t>(std::max(x.integer("max_iterations"), 0)) * (2 * once + prior * voxels);
  });
}

/// Cases are compared with MBIRJAX, iteration by iteration; the profile turns its rounding off.
std::vector<argument_info> arguments(int iterations) {
  return call_arguments(
      recon_call_options{.max_iterations = iterations, .stop_threshold_change_pct = 0, .mbirjax_rounding = true});
}

}  // namespace

std::vector<operation> recon_operations() {
  using enum array_kind;
  input_info const sinogram_input{.name = "sinogram", .kind = sinogram},
      weights{.name = "weights", .kind = sinogram, .required = false},
      init{.name = "init_recon", .kind = recon, .required = false};
  auto prox_arguments = arguments(3);
  prox_arguments.push_back({"sigma_prox", value_kind::number, nullptr});
  return {
      entry<invoke::recon>({"recon",
                            scans,
                            {sinogram_input, weights, init},
                            arguments(15),
                            recon,
                            [](any_scan const& any, operands const& x) { return least_flops(any, x, 74); }}),
      entry<invoke::prox_map>({"recon",
                               scans,
                               {{.name = "prox_input", .kind = recon}, sinogram_input, weights, init},
                               prox_arguments,
                               recon,
                               [](any_scan const& any, operands const& x) { return least_flops(any, x, 2); }}),
  };
}

}  // namespace mbirk::program
