// The operations as function objects for any policy: body(ctx, scan, x) with operands x in the policy's memory. The
// type of scan that a body accepts determines the cases it supports. All bodies are templates, so any source may
// include all of them without compiling unused ones.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mbirk/geometry/mask.hpp"
#include "mbirk/instances/any.hpp"
#include "mbirk/instances/counting.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/recon/denoise.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/recon/recon.hpp"
#include "mbirk/recon/weights.hpp"
#include "mbirk/util/median.hpp"
#include "mbirk/util/partition_set.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

/// Either parallel_scan or cone_scan; excludes cases without geometry.
template <class T> concept some_scan = std::same_as<T, parallel_scan> || std::same_as<T, cone_scan>;

// Options of calls, from arguments and settings.

inline filter_options filter_of(auto const& x) { return {.name = x.text("filter_name")}; }

/// Reads the options of a call from arguments; an optional argument that is null leaves its option as it is.
template <class Options> void read_call_options(auto const& x, Options& o) {
  mbirk::detail::each_call_option(o, [&]<class T>(char const* name, auto const&, T& member, char const*) {
    if constexpr (std::same_as<T, bool>) member = x.boolean(name);
    else if constexpr (std::integral<T>) member = static_cast<T>(x.integer(name));
    else if (auto const number = x.number(name)) member = *number;
  });
}

inline recon_options recon_options_of(auto const& x) {
  recon_options o({}, x.settings);
  read_call_options(x, o);
  if (auto const image = x.optional_volume("init_recon")) o.init_recon = *image;
  return o;
}

inline denoise_options denoise_options_of(auto const& x) {
  denoise_options o = x.denoiser;
  read_call_options(x, o);
  o.use_ror_mask = x.boolean("use_ror_mask");
  return o;
}

/// The grid of a partition with its mask: those of the scan, or the case's recon_shape with the mask enabled.
struct masked_grid {
  std::vector<std::uint8_t> mask;
  index_t rows, cols;
};
inline masked_grid grid_of(any_scan const& any, operands const& x) {
  return std::visit([&](auto const& scan) -> masked_grid {
    if constexpr (requires { scan.geometry(); }) {
      return {scan.mask(), scan.geometry().recon_rows, scan.geometry().recon_cols};
    } else {
      require<shape_error>(x.recon_shape.has_value(),
                           [] { return std::string("recon_shape is missing, expected [rows, cols, slices]"); });
      auto const [rows, cols, slices] = *x.recon_shape;
      return {make_mask(rows, cols, true), rows, cols};
    }
  }, any);
}

namespace invoke {

struct forward_project {
  static constexpr char const* name = "forward_project";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::forward_project(ctx, scan, x.volume("recon"), x.output_volume());
  }
};
struct back_project {
  static constexpr char const* name = "back_project";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::back_project(ctx, scan, x.volume("sinogram"), x.output_volume());
  }
};
struct sparse_forward_project {
  static constexpr char const* name = "sparse_forward_project";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::sparse_forward_project(ctx, scan, x.cylinders("voxel_values"), x.list("pixel_indices"), x.output_volume());
  }
};
struct sparse_back_project {
  static constexpr char const* name = "sparse_back_project";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::sparse_back_project(ctx, scan, x.volume("sinogram"), x.list("pixel_indices"), x.output_cylinders(),
                               x.integer("coeff_power"));
  }
};
struct hessian_diagonal {
  static constexpr char const* name = "hessian_diagonal";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::hessian_diagonal(ctx, scan, x.optional_volume("weights"), x.output_volume());
  }
};

struct direct_filter {
  static constexpr char const* name = "direct_filter";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::direct_filter(ctx, scan, x.volume("sinogram"), x.output_volume(), filter_of(x));
  }
};
struct fbp_filter {
  static constexpr char const* name = "fbp_filter";
  void operator()(auto const& ctx, parallel_scan const& scan, auto& x) const {
    mbirk::fbp_filter(ctx, scan, x.volume("sinogram"), x.output_volume(), filter_of(x));
  }
};
struct fdk_filter {
  static constexpr char const* name = "fdk_filter";
  void operator()(auto const& ctx, cone_scan const& scan, auto& x) const {
    mbirk::fdk_filter(ctx, scan, x.volume("sinogram"), x.output_volume(), filter_of(x));
  }
};
struct direct_recon {
  static constexpr char const* name = "direct_recon";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::direct_recon(ctx, scan, x.volume("sinogram"), x.output_volume(), filter_of(x), &x.warnings);
  }
};
struct fbp_recon {
  static constexpr char const* name = "fbp_recon";
  void operator()(auto const& ctx, parallel_scan const& scan, auto& x) const {
    mbirk::fbp_recon(ctx, scan, x.volume("sinogram"), x.output_volume(), filter_of(x), &x.warnings);
  }
};
struct fdk_recon {
  static constexpr char const* name = "fdk_recon";
  void operator()(auto const& ctx, cone_scan const& scan, auto& x) const {
    mbirk::fdk_recon(ctx, scan, x.volume("sinogram"), x.output_volume(), filter_of(x), &x.warnings);
  }
};

struct recon {
  static constexpr char const* name = "recon";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    x.warnings = mbirk::recon(ctx, scan, x.volume("sinogram"), x.optional_volume("weights"), x.output_volume(),
                              recon_options_of(x))
                     .warnings;
  }
};
struct prox_map {
  static constexpr char const* name = "prox_map";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    auto o = recon_options_of(x);
    if (auto const sigma = x.number("sigma_prox")) o.sigma_prox = sigma;
    auto const record = mbirk::prox_map(ctx, scan, x.volume("prox_input"), x.volume("sinogram"),
                                        x.optional_volume("weights"), x.output_volume(), o);
    x.warnings = record.warnings;
  }
};

struct gen_weights {
  static constexpr char const* name = "gen_weights";
  void operator()(auto const& ctx, any_scan const&, auto& x) const {
    mbirk::gen_weights(ctx, x.volume("sinogram"), parse_weight_type(x.text("weight_type")), x.output_volume());
  }
};
struct gen_weights_mar {
  static constexpr char const* name = "gen_weights_mar";
  void operator()(auto const& ctx, some_scan auto const& scan, auto& x) const {
    mbirk::gen_weights_mar(ctx, scan, x.volume("sinogram"), x.optional_volume("init_recon"),
                           x.number("metal_threshold"), *x.number("beta"), *x.number("gamma"), x.output_volume());
  }
};

struct qggmrf_denoise {
  static constexpr char const* name = "qggmrf_denoise";
  void operator()(auto const& ctx, any_scan const&, auto& x) const {
    x.warnings = mbirk::qggmrf_denoise(ctx, x.volume("image"), denoise_options_of(x), x.output_volume()).warnings;
  }
};
struct median_filter3d {
  static constexpr char const* name = "median_filter3d";
  void operator()(auto const& ctx, any_scan const&, auto& x) const {
    mbirk::median_filter3d(ctx, x.volume("image"), x.output_volume());
  }
};

/// Partitions are made on the host under every policy, so their operands are never copied to a device.
struct made_on_host {};
template <class Generate> struct partition : made_on_host {
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

}  // namespace invoke

/// Whether a body runs on the host under every policy.
template <class Body> inline constexpr bool host_only = std::derived_from<Body, invoke::made_on_host>;

}  // namespace mbirk::program
