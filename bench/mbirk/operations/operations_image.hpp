// Operations on images and pixels, which need no scan: denoiser, median filter, partitions.
#pragma once

#include "mbirk/recon/denoise.hpp"
#include "mbirk/util/median.hpp"
#include "mbirk/util/partition_set.hpp"
#include "operations/operation_groups.hpp"

namespace mbirk::program {
namespace bodies {

inline std::uint64_t voxels_of_image(operands const& x) {
  std::uint64_t voxels = 1;
  for (auto const n : shape_of(x.inputs.find("image")->second)) voxels *= static_cast<std::uint64_t>(n);
  return voxels;
}

struct qggmrf_denoise {
  static constexpr char const* name = "qggmrf_denoise";
  static entry_info entry() {
    auto arguments = call_arguments(denoise_call_options{.stop_threshold_change_pct = 0});
    arguments.push_back({"use_ror_mask", value_kind::boolean, false});
    return {.group = "recon",
            .geometries = anything,
            .inputs = {{.name = "image"}},
            .arguments = arguments,
            .minimal_flops = [](any_scan const&, operands const& x) {
              // per voxel: 14 for each pair and 4 for the prior, 18 for direction, line search and update
              return voxels_of_image(x) * 92 * static_cast<std::uint64_t>(std::max(x.integer("max_iterations"), 0));
            },
            .profile = {{.arguments = {{"max_iterations", 1}}}}};
  }
  void operator()(auto const& ctx, any_scan const&, auto& x) const {
    x.warnings = mbirk::qggmrf_denoise(ctx, x.volume("image"), denoise_options_of(x), x.output_volume()).warnings;
  }
};

struct median_filter3d {
  static constexpr char const* name = "median_filter3d";
  static entry_info entry() {
    return {.group = "util", .geometries = anything, .inputs = {{.name = "image", .may_be_nan = true}}};
  }
  void operator()(auto const& ctx, any_scan const&, auto& x) const {
    mbirk::median_filter3d(ctx, x.volume("image"), x.output_volume());
  }
};

struct partition_base : made_on_host {
  static entry_info entry() {
    return {.group = "util",
            .geometries = anything,
            .arguments = {{"num_subsets", value_kind::integer, 4}, {"seed", value_kind::integer, 0}},
            .output = array_kind::partition};
  }
};
/// A partition of the pixels of a grid, made by Generate.
template <class Generate> struct partition : partition_base {
  void operator()(auto const& ctx, any_scan const& any, operands& x) const {
    auto const grid = grid_of(any, x);
    numpy_random_state random(static_cast<std::uint32_t>(x.integer("seed")));
    pixel_partition p = Generate{}(ctx, grid.mask, grid.rows, grid.cols, x.integer("num_subsets"), random);
    x.warnings = std::move(p.warnings);
    x.output = npy_array<std::int32_t>{{p.subsets, p.length}, std::move(p.indices)};
  }
};
struct generate_random {
  pixel_partition operator()(auto const& ctx, auto&&... a) const { return mbirk::gen_pixel_partition(ctx, a...); }
};
struct generate_blue_noise {
  pixel_partition operator()(auto const& ctx, auto&&... a) const {
    return mbirk::gen_pixel_partition_blue_noise(ctx, a...);
  }
};
struct generate_grid {
  pixel_partition operator()(auto const& ctx, auto&&... a) const { return mbirk::gen_pixel_partition_grid(ctx, a...); }
};
struct gen_pixel_partition : partition<generate_random> {
  static constexpr char const* name = "gen_pixel_partition";
};
struct gen_pixel_partition_blue_noise : partition<generate_blue_noise> {
  static constexpr char const* name = "gen_pixel_partition_blue_noise";
};
struct gen_pixel_partition_grid : partition<generate_grid> {
  static constexpr char const* name = "gen_pixel_partition_grid";
};

}  // namespace bodies

using image_bodies = body_list<bodies::qggmrf_denoise, bodies::median_filter3d, bodies::gen_pixel_partition,
                               bodies::gen_pixel_partition_blue_noise, bodies::gen_pixel_partition_grid>;

}  // namespace mbirk::program
