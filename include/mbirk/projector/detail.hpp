// Parts shared by the projector operations of all geometries: checks, planned pixels in memory that kernels can read,
// changes of layout. Not for users.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/geometry/operation_name.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/kernel/device/device_reduce.hpp"
#include "mbirk/kernel/device/gather_bounds.hpp"
#include "mbirk/kernel/device/gather_epilogue.hpp"
#include "mbirk/kernel/shared/epilogue.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/launch.hpp"
#include "mbirk/operation.hpp"

namespace mbirk::detail {

template <class Context, class Geometry, class T>
void check_sinogram(Context const& ctx, scan<Geometry> const& s, view<T, 3> const& sinogram, char const* operation,
                    char const* name = "sinogram") {
  check(ctx, sinogram, s.sinogram_shape(), operation, name, "(views, rows, channels)");
}
template <class Context, class Geometry, class T>
void check_recon(Context const& ctx, scan<Geometry> const& s, view<T, 3> const& recon, char const* operation,
                 char const* name = "recon") {
  check(ctx, recon, s.recon_shape(), operation, name, "(rows, cols, slices)");
}
template <class Context, class Geometry, class T>
void check_columns(Context const& ctx, scan<Geometry> const& s, view<T, 2> const& voxel_values, index_t pixels,
                   char const* operation) {
  check(ctx, voxel_values, {pixels, s.geometry().slices}, operation, "voxel_values", "(pixels, slices)");
}
template <class Geometry>
std::span<std::int32_t const> check_pixels(scan<Geometry> const& s, view<std::int32_t const, 1> pixel_indices,
                                           char const* operation) {
  return check_pixels(pixel_indices, s.geometry().recon_rows * s.geometry().recon_cols, operation);
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

  auto boxes(Context const& ctx) const {
    return kernel::group_boxes<typename Context::backend::index_backend>{
        observe(ctx, doubled_row_center), observe(ctx, row_extent), observe(ctx, doubled_col_center),
        observe(ctx, col_extent)};
  }

 private:
  device_table<std::int32_t, Context> doubled_row_center, row_extent, doubled_col_center, col_extent;
};
struct no_group_bounds {
  template <class Context> no_group_bounds(Context const&, kernel::pixel_plan const&) {}
};

/// Planned pixels in memory that the kernels can read, made once for any number of projections.
template <class Context> struct device_plan {
  device_plan(Context const& ctx, kernel::pixel_plan planned)
      : host(std::move(planned)),
        pixels(host.pixels),
        listed(!host.groups.empty() && host.groups[0].tile_mask == 0),
        rows(ctx, host.rows, "pixel rows"),
        cols(ctx, host.cols, "pixel columns"),
        offsets(ctx, host.offsets, "pixel offsets"),
        groups(ctx, host.groups, "pixel groups"),
        bounds(ctx, host) {
    offsets_in_fours = std::ranges::all_of(host.offsets, [](index_t offset) { return offset % 4 == 0; });
    if constexpr (on_device<Context>) host = {};
  }
  device_plan(device_plan const&) = delete;
  device_plan& operator=(device_plan const&) = delete;

  kernel::pixel_plan host;  // what the tables refer to on the host; empty once a device has its copies
  index_t pixels;
  bool listed;                    // a list rather than the tiles of a grid
  bool offsets_in_fours = false;  // whether all offsets of voxel columns are multiples of 4
  device_table<std::int32_t, Context> rows, cols;
  device_table<index_t, Context> offsets;
  device_table<kernel::pixel_group, Context> groups;
  [[no_unique_address]] std::conditional_t<on_device<Context>, device_group_bounds<Context>, no_group_bounds> bounds;
};

/// Whether four floats from here on are one 16-byte word. Not for cursors that are no pointers.
template <class Cursor> bool starts_at_four([[maybe_unused]] Cursor const& p) {
  if constexpr (std::is_convertible_v<Cursor, float const*>)
    return reinterpret_cast<std::uintptr_t>(static_cast<float const*>(p)) % (4 * sizeof(float)) == 0;
  else return false;
}

/// Order of listed pixels that suits the kernels of a context.
template <class Context>
inline constexpr auto order_of_list = on_device<Context> ? kernel::list_order::hilbert_curve
                                                         : kernel::list_order::rows_of_squares;

/// Plans the pixels inside the mask, those of the whole grid, or a list.
template <class Geometry>
kernel::pixel_plan mask_pixels(scan<Geometry> const& s, std::array<index_t, 3> const& strides) {
  return kernel::plan_grid(s.geometry().recon_rows, s.geometry().recon_cols, s.mask().data(), strides[0], strides[1]);
}
template <class Geometry>
kernel::pixel_plan grid_pixels(scan<Geometry> const& s, std::array<index_t, 3> const& strides) {
  return kernel::plan_grid(s.geometry().recon_rows, s.geometry().recon_cols, nullptr, strides[0], strides[1]);
}
template <class Context, class Geometry>
kernel::pixel_plan listed_pixels(scan<Geometry> const& s, std::span<std::int32_t const> pixels, index_t stride) {
  return kernel::plan_list(pixels, s.geometry().recon_rows, s.geometry().recon_cols, stride, order_of_list<Context>);
}

/// Voxel columns outside the mask, in memory that the kernels can read.
template <class Context> struct outside_columns {
  template <class Geometry>
  outside_columns(Context const& ctx, scan<Geometry> const& s, std::array<index_t, 3> const& strides)
      : host(masked_out(s.mask(), s.geometry().recon_cols, strides)), offsets(ctx, host, "pixel offsets outside") {}
  outside_columns(outside_columns const&) = delete;
  outside_columns& operator=(outside_columns const&) = delete;

  std::vector<index_t> host;
  device_table<index_t, Context> offsets;

 private:
  static std::vector<index_t> masked_out(std::vector<std::uint8_t> const& mask, index_t cols,
                                         std::array<index_t, 3> const& strides) {
    std::vector<index_t> found;
    for (index_t p = 0; p < static_cast<index_t>(mask.size()); ++p)
      if (!mask[static_cast<std::size_t>(p)]) found.push_back(p / cols * strides[0] + p % cols * strides[1]);
    return found;
  }
};

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

/// Runs the epilogue as a separate pass over the sinogram. On a device only projections of sorted pixels fuse it.
template <class Context, class Epilogue>
void run_epilogue(Context const& ctx, typename Context::backend::template cursor<float> channel_major,
                  kernel::chunked_shape const& shape, Epilogue const& epilogue) {
  using B = typename Context::backend;
  if constexpr (!std::is_same_v<Epilogue, kernel::store_epilogue<B>>)
    launch(ctx, shape.chunks * shape.views, kernel::apply_epilogue<B, Epilogue>{channel_major, shape, epilogue});
}

/// Calls launch_gather with the epilogue of the warps that project sorted pixels, `warps_of_view` for every view of a
/// chunk, and then adds up the sums that they have left, if any, view by view.
template <class Context, class Epilogue, class LaunchGather>
void run_gather(Context const& ctx, kernel::chunked_shape const& shape, index_t warps_of_view,
                [[maybe_unused]] Epilogue const& epilogue, LaunchGather const& launch_gather) {
  using B = typename Context::backend;
  if constexpr (std::is_same_v<Epilogue, kernel::store_epilogue<B>>) {
    launch_gather(kernel::gather_store<B>{});
  } else if constexpr (requires { epilogue.step; }) {
    launch_gather(kernel::gather_subtract<B, Epilogue::weighted>{epilogue.weights, epilogue.error, epilogue.step});
  } else {
    index_t const views = shape.chunks * shape.views;
    temporary<double, Context> const sums(ctx, "line search sums of warps", views * warps_of_view);
    launch_gather(kernel::gather_norm<B, Epilogue::weighted, Epilogue::keeps>{epilogue.weights, observe(ctx, sums),
                                                                              warps_of_view});
    launch(ctx, views, kernel::sum_runs<B>{observe(ctx, sums), warps_of_view, epilogue.partial});
  }
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
void zero_outside(Context const& ctx, outside_columns<Context> const& outside, view<float, 3> recon) {
  using B = typename Context::backend;
  auto const& offsets = outside.offsets;
  [[maybe_unused]] auto const guard = ctx.instr.stage("zero");
  launch(ctx, ceil_div(offsets.size(), kernel::zero_columns<B>::batch),
         kernel::zero_columns<B>{observe(ctx, recon, "recon", array_role::output), observe(ctx, offsets),
                                 offsets.size(), recon.extent(2)});
}

}  // namespace mbirk::detail
