// The denoiser.
#include "mbirk/recon/denoise.hpp"
#include "operation_groups.hpp"

namespace mbirk::program {

std::vector<operation> prior_operations() {
  using enum array_kind;
  return {
      {"qggmrf_denoise", "recon", anything, on_host, {{.name = "image", .kind = image}},
       {{"max_iterations", value_kind::integer, 15}, {"stop_threshold_change_pct", value_kind::number, 0.0}, {"seed", value_kind::integer, 0},
        {"sigma_noise", value_kind::number, nullptr}, {"use_ror_mask", value_kind::boolean, false}}, image,
       on_policy([](auto const& ctx, any_scan const&, operands& x) {
         auto o = x.denoiser;
         o.max_iterations = x.integer("max_iterations");
         o.stop_threshold_change_pct = *x.number("stop_threshold_change_pct");
         o.seed = static_cast<std::uint32_t>(x.integer("seed"));
         if (auto const sigma = x.number("sigma_noise")) o.sigma_noise = *sigma;
         o.use_ror_mask = x.boolean("use_ror_mask");
         x.warnings = qggmrf_denoise(ctx, x.volume("image"), o, x.output_volume()).warnings;
       }),
       [](any_scan const&, operands const& x) {  // per voxel: 14 a pair and 4 for the prior, 18 for direction, line search and update
         std::uint64_t voxels = 1;
         for (auto const n : shape_of(x.inputs.find("image")->second)) voxels *= static_cast<std::uint64_t>(n);
         return voxels * 92 * static_cast<std::uint64_t>(std::max(x.integer("max_iterations"), 0));
       }},
  };
}

}  // namespace mbirk::program
