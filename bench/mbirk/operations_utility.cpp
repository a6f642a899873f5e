// Pixel partitions and the median filter.
#include "mbirk/geometry/mask.hpp"
#include "mbirk/util/median.hpp"
#include "mbirk/util/partition_set.hpp"
#include "operation_groups.hpp"

namespace mbirk::program {
namespace {

/// The grid and its mask: of the scan, or the case's recon_shape with the mask on.
struct masked_grid {
  std::vector<std::uint8_t> mask;
  index_t rows, cols;
};
masked_grid grid_of(any_scan const& any, operands const& x) {
  return std::visit([&](auto const& scan) -> masked_grid {
    if constexpr (requires { scan.geometry(); }) {
      return {scan.mask(), scan.geometry().recon_rows, scan.geometry().recon_cols};
    } else {
      require<shape_error>(x.recon_shape.has_value(), [] { return std::string("recon_shape is missing, expected [rows, cols, slices]"); });
      auto const [rows, cols, slices] = *x.recon_shape;
      return {make_mask(rows, cols, true), rows, cols};
    }
  }, any);
}

template <class Operation> operation partition_entry(char const* name, Operation const& op) {
  return {name, "util", anything, on_host, {}, {{"num_subsets", value_kind::integer, 4}, {"seed", value_kind::integer, 0}}, array_kind::partition,
          on_policy([op](auto const& ctx, any_scan const& any, operands& x) {
            auto const grid = grid_of(any, x);
            legacy_random random(static_cast<std::uint32_t>(x.integer("seed")));
            pixel_partition p = op(ctx, grid.mask, grid.rows, grid.cols, x.integer("num_subsets"), random);
            x.warnings = std::move(p.warnings);
            x.output = npy_array<std::int32_t>{{p.subsets, p.length}, std::move(p.indices)};
          }),
          [](any_scan const&, operands const&) -> std::uint64_t { return 0; }};
}

}  // namespace

std::vector<operation> utility_operations() {
  using enum array_kind;
  return {
      {"median_filter3d", "util", anything, on_host, {{.name = "image", .kind = image, .may_be_nan = true}}, {}, image,
       on_policy([](auto const& ctx, any_scan const&, operands& x) { median_filter3d(ctx, x.volume("image"), x.output_volume()); }),
       [](any_scan const&, operands const&) -> std::uint64_t { return 0; }},
      partition_entry("gen_pixel_partition", [](auto const& ctx, auto&&... a) { return gen_pixel_partition(ctx, a...); }),
      partition_entry("gen_pixel_partition_blue_noise", [](auto const& ctx, auto&&... a) { return gen_pixel_partition_blue_noise(ctx, a...); }),
      partition_entry("gen_pixel_partition_grid", [](auto const& ctx, auto&&... a) { return gen_pixel_partition_grid(ctx, a...); }),
  };
}

}  // namespace mbirk::program
