// The denoiser.
#include "operations/operation_groups.hpp"

namespace mbirk::program {

std::vector<operation> prior_operations() {
  using enum array_kind;
  auto arguments = call_arguments(denoise_call_options{.stop_threshold_change_pct = 0});
  arguments.push_back({"use_ror_mask", value_kind::boolean, false});
  return {
      entry<invoke::qggmrf_denoise>(
          {"recon",
           anything,
           {{.name = "image", .kind = image}},
           arguments,
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
