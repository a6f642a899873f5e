// Iterative reconstruction.
#pragma once

#include "mbirk/recon/recon.hpp"
#include "operations/operation_groups.hpp"

namespace mbirk::program {
namespace bodies {

/// Minimal flops: set-up (filter, direct image, its projection, Hessian diagonal), two projections of the partition's
/// pixels per iteration, and the prior.
inline std::uint64_t least_flops(any_scan const& any, operands const& x, std::uint64_t prior) {
  return of_scan(any, [&](auto const& scan) {
    std::uint64_t const once = projection_flops(scan, scan.full_indices());
    std::uint64_t total = hessian_flops(scan, x.inputs.contains("weights")) + once;
    if (!x.inputs.contains("init_recon")) total += filter_flops(scan) + once;
    auto const voxels = scan.full_indices().size() * static_cast<std::uint64_t>(scan.geometry().slices);
    return total + static_cast<std::uint64_t>(std::max(x.integer("max_iterations"), 0)) * (2 * once + prior * voxels);
  });
}

/// Cases are compared with MBIRJAX, iteration by iteration; the profile turns its rounding off.
inline std::vector<argument_info> recon_arguments(int iterations) {
  return call_arguments(
      recon_call_options{.max_iterations = iterations, .stop_threshold_change_pct = 0, .mbirjax_rounding = true});
}

inline input_info const init_recon{.name = "init_recon", .kind = array_kind::recon, .required = false};
inline input_info const weights{.name = "weights", .kind = array_kind::sinogram, .required = false};
/// The profile times one iteration, without MBIRJAX's rounding.
inline std::map<std::string, nlohmann::json> one_iteration() {
  return {{"max_iterations", 1}, {"mbirjax_rounding", false}};
}

struct recon {
  static constexpr char const* name = "recon";
  static entry_info entry() {
    return {.group = "recon",
            .inputs = {{.name = "sinogram", .kind = array_kind::sinogram}, weights, init_recon},
            .arguments = recon_arguments(15),
            .output = array_kind::recon,
            .minimal_flops = [](any_scan const& any, operands const& x) { return least_flops(any, x, 74); },
            .profile = {{.name = "mbir_recon", .arguments = one_iteration()}}};
  }
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    x.warnings = mbirk::recon(ctx, scan, x.volume("sinogram"), x.optional_volume("weights"), x.output_volume(),
                              recon_options_of(x))
                     .warnings;
  }
};

struct prox_map {
  static constexpr char const* name = "prox_map";
  static entry_info entry() {
    auto arguments = recon_arguments(3);
    arguments.push_back({"sigma_prox", value_kind::number, nullptr});
    return {.group = "recon",
            .inputs = {{.name = "prox_input", .kind = array_kind::recon},
                       {.name = "sinogram", .kind = array_kind::sinogram},
                       weights,
                       init_recon},
            .arguments = arguments,
            .output = array_kind::recon,
            .minimal_flops = [](any_scan const& any, operands const& x) { return least_flops(any, x, 2); },
            .profile = {{.arguments = one_iteration()}}};
  }
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    auto o = recon_options_of(x);
    if (auto const sigma = x.number("sigma_prox")) o.sigma_prox = sigma;
    auto const record = mbirk::prox_map(ctx, scan, x.volume("prox_input"), x.volume("sinogram"),
                                        x.optional_volume("weights"), x.output_volume(), o);
    x.warnings = record.warnings;
  }
};

}  // namespace bodies

using recon_bodies = body_list<bodies::recon, bodies::prox_map>;

}  // namespace mbirk::program
