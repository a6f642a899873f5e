// The denoiser.
#include "operations/operation_groups.hpp"

namespace mbirk::program {

std::vector<operation> prior_operations() {
  using enum array_kind;
  return {
      entry<invoke::qggmrf_denoise>(
          {"recon",
           anything,
           {{.name = "image", .kind = image}},
           {{"max_iterations", value_kind::integer, 15},
            {"stop_threshold_change_pct", value_kind::number, 0.0},
            {"seed", value_kind::integer, 0},
            {"sigma_noise", value_kind::number, nullptr},
            {"use_ror_mask", value_kind::boolean, false}},
           image,
           // Flops per voxel: 14 per pair and 4 for the prior, 18 for direction, line search and update.
           [](any_scan const&, operands const& x) {
             std::uint64_t voxels = 1;
             for (auto const n : shape_of(x.inputs.find("image")->second)) voxels *= static_cast<std::uint64_t>(n);
             return voxels * 92 * static_cast<std::uint64_t>(std::max(x.integer("max_iterations"), 0));
           }}),
  };
}

}  // namespace mbirk::program
