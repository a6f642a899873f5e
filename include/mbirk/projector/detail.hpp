// Parts shared by the projector operations of all geometries: checks of arrays, plans as observed arrays. Not for
// users.
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <vector>

#include "mbirk/launch.hpp"
#include "mbirk/geometry/operation_name.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/kernel/device/gather_bounds.hpp"
#include "mbirk/kernel/shared/epilogue.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/plan.hpp"

namespace mbirk::detail {

/// Checks the shape and, unless the policy runs without data, that there is data with a contiguous last axis.
template <class Exec, class Instr, class T, int Rank>
void check(context<Exec, Instr> const&, view<T, Rank> const& v, typename view<T, Rank>::shape_type const& shape,
           char const* operation, char const* name, char const* axes, source_location w = source_location::current()) {
  if constexpr (!Instr::traits.has_data) require_extents(v, shape, operation, name, axes, w);
  else require_shape(v, shape, operation, name, axes, w);
}

/// Returns a list of pixels as a span after checking it: contiguous, with data under every policy (it steers
/// addresses), every index inside the grid.
inline std::span<std::int32_t const> check_pixels(view<std::int32_t const, 1> list, index_t count,
                                                  char const* operation) {
  require_shape(list, list.extents(), operation, "pixel_indices", "(pixels)");
  std::span<std::int32_t const> const pixels{list.data(), static_cast<std::size_t>(list.size())};
  for (std::size_t k = 0; k < pixels.size(); ++k)
    require<index_error>(pixels[k] >= 0 && pixels[k] < count, [&] {
      return std::string(operation) + ": pixel_indices[" + std::to_string(k) + "] is " + std::to_string(pixels[k]) +
             ", expected 0 to " + std::to_string(count - 1);
    });
  return pixels;
}
inline void check_power(int coeff_power) {
  require(coeff_power == 1 || coeff_power == 2,
          [&] { return "sparse_back_project: coeff_power is " + std::to_string(coeff_power) + ", expected 1 or 2"; });
}

/// Bounds of the groups of pixels, for gathering projections.
template <class Context> struct device_group_bounds {
  device_group_bounds(Context const& ctx, kernel::pixel_plan const& plan)
      : device_group_bounds(ctx, kernel::group_bounds(plan)) {}
  /// Copies each table to the device.
  device_group_bounds(Context const& ctx, kernel::group_bounds const& bounds)
      : doubled_row_center(ctx, bounds.doubled_row_center, "rows of groups"),
        row_extent(ctx, bounds.row_extent, "heights of groups"),
        doubled_col_center(ctx, bounds.doubled_col_center, "columns of groups"),
        col_extent(ctx, bounds.col_extent, "widths of groups") {}

  device_table<std::int32_t, Context> doubled_row_center, row_extent, doubled_col_center, col_extent;
};
struct no_group_bounds {
  template <class Context> no_group_bounds(Context const&, kernel::pixel_plan const&) {}
};

/// Plan of pixels in memory that the kernels can read, made once for any number of projections.
template <class Context> struct device_plan {
  device_plan(Context const& ctx, kernel::pixel_plan const& plan)
      : pixels(plan.pixels),
        rows(ctx, plan.rows, "pixel rows"),
        cols(ctx, plan.cols, "pixel columns"),
        offsets(ctx, plan.offsets, "pixel offsets"),
        groups(ctx, plan.groups, "pixel groups"),
        bounds(ctx, plan) {}
  device_plan(Context const&, kernel::pixel_plan const&&) = delete;  // on the host it refers to the plan itself

  index_t pixels;
  device_table<std::int32_t, Context> rows, cols;
  device_table<index_t, Context> offsets;
  device_table<kernel::pixel_group, Context> groups;
  [[no_unique_address]] std::conditional_t<on_device<Context>, device_group_bounds<Context>, no_group_bounds> bounds;
};

/// Offsets of the voxel columns outside the mask.
inline std::vector<index_t> masked_out(std::vector<std::uint8_t> const& mask, index_t cols, index_t row_stride,
                                       index_t col_stride) {
  std::vector<index_t> offsets;
  for (index_t p = 0; p < static_cast<index_t>(mask.size()); ++p)
    if (!mask[static_cast<std::size_t>(p)]) offsets.push_back(p / cols * row_stride + p % cols * col_stride);
  return offsets;
}

/// Views per forward task, which owns whole views. The number is independent of the threads, and so are the counts. A
/// device has more warps than views.
template <class Context> index_t views_of_a_task(index_t views) {
  return on_device<Context> ? 1 : std::clamp<index_t>(views / 8, 1, 16);
}

/// Worker count for loops over views or groups of pixels whose result does not depend on it; 1 under counting policies.
template <class Exec, class Instr> int workers_for(context<Exec, Instr> const& ctx, index_t parts) {
  return Instr::traits.serial ? 1 : ctx.exec.workers(parts);
}

/// Views per task of a projection that is kept: many, because each task reads the whole volume, but few enough for two
/// tasks per worker.
template <class Context> index_t fitting_views(Context const& ctx, index_t views, index_t chunks) {
  if constexpr (on_device<Context>) return 1;
  index_t const ranges = ceil_div(index_t{2} * workers_for(ctx, views), chunks);
  return std::clamp<index_t>(views / std::max<index_t>(1, ranges), std::clamp<index_t>(views / 4, 1, 8), 64);
}

/// Launches a block kernel on the grid that it requests; none if it has no work.
template <class Context, class Kernel> void launch_blocks(Context const& ctx, Kernel const& kernel) {
  index3 const grid = kernel.grid();
  [[maybe_unused]] auto const guard = observe_launch(
      ctx, [&] { return block_info<Kernel, Kernel, decltype(ctx.exec)>(index_t{grid.x} * grid.y * grid.z, grid); });
  if (grid.x > 0 && grid.y > 0 && grid.z > 0) launch_grid(ctx, kernel, grid);
}

/// Runs the epilogue as a separate pass over the sinogram (device projections do not fuse it).
template <class Context, class Epilogue>
void run_epilogue(Context const& ctx, typename Context::backend::template cursor<float> channel_major,
                  kernel::chunked_shape const& shape, Epilogue const& epilogue) {
  using B = typename Context::backend;
  if constexpr (!std::is_same_v<Epilogue, kernel::store_epilogue<B>>)
    launch(ctx, shape.chunks * shape.views, kernel::apply_epilogue<B, Epilogue>{channel_major, shape, epilogue});
}

/// Copies a sinogram (views, rows, channels) to a channel-major temporary.
template <class Context>
void load_sinogram(Context const& ctx, view<float const, 3> sinogram, temporary<float, Context> const& channel_major,
                   kernel::chunked_shape const& shape, char const* name = "sinogram") {
  using B = typename Context::backend;
  [[maybe_unused]] auto const guard = ctx.instr.stage("layout");
  launch(ctx, shape.views,
         kernel::to_channel_major<B>{observe(ctx, sinogram, name, array_role::argument), observe(ctx, channel_major),
                                     sinogram.stride(0), sinogram.stride(1), shape});
}

/// Copies a channel-major temporary to a sinogram (views, rows, channels).
template <class Context>
void store_sinogram(Context const& ctx, temporary<float, Context> const& channel_major, view<float, 3> sinogram,
                    kernel::chunked_shape const& shape) {
  using B = typename Context::backend;
  [[maybe_unused]] auto const guard = ctx.instr.stage("layout");
  launch(
      ctx, shape.views,
      kernel::from_channel_major<B>{observe(ctx, channel_major), observe(ctx, sinogram, "sinogram", array_role::output),
                                    sinogram.stride(0), sinogram.stride(1), shape});
}

/// Zeroes the pixels outside the mask.
template <class Context>
void zero_outside(Context const& ctx, std::vector<std::uint8_t> const& mask, view<float, 3> recon) {
  using B = typename Context::backend;
  auto const offsets = masked_out(mask, recon.extent(1), recon.stride(0), recon.stride(1));
  [[maybe_unused]] auto const guard = ctx.instr.stage("zero");
  device_table const outside(ctx, offsets, "pixel offsets outside");
  launch(ctx, ceil_div(outside.size(), kernel::zero_columns<B>::batch),
         kernel::zero_columns<B>{observe(ctx, recon, "recon", array_role::output), observe(ctx, outside),
                                 outside.size(), recon.extent(2)});
}

}  // namespace mbirk::detail
