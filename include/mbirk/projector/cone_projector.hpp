// Projection with the kernels of cone beam, for every geometry that derives from cone_geometry: selects the kernels and
// the layouts of their arrays.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "mbirk/kernel/device/cone_block_back.hpp"
#include "mbirk/kernel/device/cone_gather.hpp"
#include "mbirk/kernel/device/cone_list_gather.hpp"
#include "mbirk/kernel/host/cone_back.hpp"
#include "mbirk/kernel/host/cone_forward.hpp"
#include "mbirk/projector/operations.hpp"
#include "mbirk/projector/sorted_pixels.hpp"

namespace mbirk::detail {

/// Host tables that depend only on the scan, computed once for many projections.
struct cone_host_tables {
  index_t padded_slices = 0, views_per_task = 0;
  bool mirrored = false;
  kernel::elevation_table elevations;
  std::vector<view_position> positions;

  template <class Geometry>
  cone_host_tables(scan<Geometry> const& s, int lanes, index_t views_of_forward_task)
      : padded_slices(std::max<index_t>(1, ceil_div(s.geometry().slices, lanes)) * lanes),
        views_per_task(views_of_forward_task),
        mirrored(kernel::is_mirrored(s, lanes)),
        elevations(kernel::make_elevations(s, padded_slices)),
        positions(s.positions().begin(), s.positions().end()) {}
};
template <class Context> struct cone_tables : cone_host_tables {
  device_table<float, Context> device_elevations;
  device_table<view_position, Context> device_positions;

  template <class Geometry>
  cone_tables(Context const& ctx, scan<Geometry> const& s, index_t views_of_forward_task)
      : cone_host_tables(s, Context::backend::lanes, views_of_forward_task),
        device_elevations(ctx, elevations.t, "elevations"),
        device_positions(ctx, positions, "view positions") {}
  template <class Geometry>
  cone_tables(Context const& ctx, scan<Geometry> const& s)
      : cone_tables(ctx, s, fitting_views(ctx, s.geometry().views, 1)) {}
  /// Tables for an iterative reconstruction.
  template <class Geometry>
  cone_tables(Context const& ctx, scan<Geometry> const& s, kernel::chunked_shape const&)
      : cone_tables(ctx, s, views_of_a_task<Context>(s.geometry().views)) {}
  cone_tables(cone_tables const&) = delete;
  cone_tables& operator=(cone_tables const&) = delete;
};

/// Part shared by the cone-beam task kernels. may_mirror: whether the kernel supports mirrored views.
template <class Context, class Geometry>
kernel::cone_view<typename Context::backend> make_cone_view(Context const& ctx, scan<Geometry> const& s,
                                                            cone_tables<Context> const& t,
                                                            device_plan<Context> const& plan, bool may_mirror = true) {
  return {s.geometry(), observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, t.device_positions),
          observe(ctx, t.device_elevations), t.elevations.largest.data(), t.elevations.stride, t.padded_slices,
          may_mirror && t.mirrored};
}

/// Kernels of cone beam.
template <class Geometry> struct cone_projector : keeps_every_projection {
  template <class Context> using tables = cone_tables<Context>;

  /// One chunk with all rows, because resampling needs a whole detector column.
  template <class Context> static kernel::chunked_shape channel_major_shape(cone_geometry const& g) {
    return kernel::make_chunks(g.views, g.channels, g.rows, Context::backend::lanes, std::max<index_t>(1, g.rows));
  }
  template <class Context> static index_t forward_tasks(cone_host_tables const& t, kernel::chunked_shape const& shape) {
    return ceil_div(shape.views, t.views_per_task);
  }

  /// y = A x over planned pixels into a channel-major sinogram; the views are passed to the epilogue.
  template <class Context, class VoxelColumns, class Epilogue>
  static void project_channel_major(Context const& ctx, scan<Geometry> const& s, tables<Context> const& t,
                                    VoxelColumns voxel_columns, device_plan<Context> const& plan,
                                    typename Context::backend::template cursor<float> channel_major,
                                    kernel::chunked_shape const& shape, Epilogue const& epilogue) {
    using B = typename Context::backend;
    if constexpr (on_device<Context>) {
      kernel::pack_pieces const pieces(shape.packs, kernel::cone_gather_sums<B>::most_packs);
      auto const sums = [&]<class E>(E const& of_warp) {
        return kernel::cone_gather_sums<B, E>{s.geometry(), voxel_columns, channel_major, observe(ctx, plan.rows),
                                              observe(ctx, plan.cols), observe(ctx, plan.offsets),
                                              observe(ctx, t.device_positions), observe(ctx, t.device_elevations),
                                              t.elevations.stride, shape, pieces, of_warp};
      };
      if (double const widest = widest_cone_footprint(s); sorts_pixels(shape, plan) && std::isfinite(widest)) {
        sorted_pixels<Context> const sorted(ctx, shape, plan.pixels, widest);
        sort_pixels(ctx, shape.views, kernel::cone_channel_order<B>{sorted.sorter(ctx, plan), s.geometry(),
                                                                    observe(ctx, t.device_positions)});
        run_gather(ctx, shape, pieces.count() * ceil_div(shape.channels, index_t{kernel::gather_channels}), epilogue,
                   [&]<class E>(E const& of_warp) {
          launch_blocks(ctx, kernel::cone_list_gather<B, E>{sums(of_warp), sorted.lists(ctx, plan.pixels)});
        });
      } else {
        launch_blocks(ctx, kernel::cone_gather<B>{sums(kernel::gather_store<B>{}), plan.bounds.boxes(ctx),
                                                  plan.groups.all()});
        run_epilogue(ctx, channel_major, shape, epilogue);
      }
    } else {
      kernel::cone_forward<B, Epilogue> kernel{
          {make_cone_view(ctx, s, t, plan), voxel_columns, channel_major, observe(ctx, plan.offsets), shape,
           plan.groups.all(), kernel::batch_groups(plan.groups.all(), 4 * kernel::group_pixels * t.padded_slices, 1),
           t.views_per_task},
          epilogue};
      kernel.plan_scratch();
      launch(ctx, forward_tasks<Context>(t, shape), kernel);
    }
  }

  template <class Context>
  static kernel::group_batches back_batches(Context const& ctx, cone_host_tables const& t,
                                            device_plan<Context> const& plan) {
    return kernel::batch_groups(plan.groups.all(), 4 * kernel::group_pixels * t.padded_slices,
                                workers_for(ctx, plan.groups.size()));
  }
  /// The kernel of a device that overwrites the voxel columns.
  template <int Power, bool Unit, class Context, class Sinogram, class VoxelColumns>
  static auto block_back(Context const& ctx, scan<Geometry> const& s, tables<Context> const& t, Sinogram channel_major,
                         kernel::chunked_shape const& shape, device_plan<Context> const& plan,
                         VoxelColumns voxel_columns) {
    using B = typename Context::backend;
    using block_kernel = kernel::cone_block_back<B, Power, Unit>;
    return block_kernel{s.geometry(),
                        channel_major,
                        voxel_columns,
                        observe(ctx, plan.rows),
                        observe(ctx, plan.cols),
                        observe(ctx, plan.offsets),
                        observe(ctx, t.device_positions),
                        observe(ctx, t.device_elevations),
                        t.elevations.stride,
                        shape,
                        block_kernel::pieces_of(t.padded_slices / B::lanes, plan.listed ? plan.groups.size() : 0),
                        plan.groups.all()};
  }
  template <int Power, bool Unit, class Context, class Sinogram, class VoxelColumns>
  static void launch_back(Context const& ctx, scan<Geometry> const& s, tables<Context> const& t, Sinogram channel_major,
                          kernel::chunked_shape const& shape, device_plan<Context> const& plan,
                          VoxelColumns voxel_columns) {
    using B = typename Context::backend;
    if constexpr (on_device<Context>) {
      launch_blocks(ctx, block_back<Power, Unit>(ctx, s, t, channel_major, shape, plan, voxel_columns));
    } else {
      kernel::cone_back<B, Power, Unit> kernel{
          {make_cone_view(ctx, s, t, plan), channel_major, shape, plan.groups.all(), back_batches(ctx, t, plan)},
          voxel_columns,
          observe(ctx, plan.offsets)};
      kernel.plan_scratch();
      launch(ctx, kernel.batches.count, kernel);
    }
  }
  /// x = A' y (or with the elementwise square of A) over planned pixels, from a channel-major sinogram.
  template <class Context, class VoxelColumns>
  static void back_project_channel_major(Context const& ctx, scan<Geometry> const& s, tables<Context> const& t,
                                         typename Context::backend::template cursor<float const> channel_major,
                                         kernel::chunked_shape const& shape, device_plan<Context> const& plan,
                                         int coeff_power, VoxelColumns voxel_columns) {
    if (coeff_power == 2) launch_back<2, false>(ctx, s, t, channel_major, shape, plan, voxel_columns);
    else launch_back<1, false>(ctx, s, t, channel_major, shape, plan, voxel_columns);
  }
  /// Back projects some views, which channel_major has. On the host it adds them to the voxel columns, view by view:
  /// blocks of views that are added in their order give the bits of all views at once. On a device it overwrites the
  /// voxel columns.
  template <class Context, class VoxelColumns>
  static void back_project_views(Context const& ctx, scan<Geometry> const& s, tables<Context> const& t,
                                 index_t first_view,
                                 typename Context::backend::template cursor<float const> channel_major,
                                 kernel::chunked_shape const& shape, device_plan<Context> const& plan,
                                 VoxelColumns voxel_columns) {
    using B = typename Context::backend;
    if constexpr (on_device<Context>) {
      auto kernel = block_back<1, false>(ctx, s, t, channel_major, shape, plan, voxel_columns);
      kernel.geometry.views = shape.views;
      kernel.positions = kernel.positions + first_view;
      kernel.elevations = kernel.elevations + first_view * kernel.elevation_stride;
      launch_blocks(ctx, kernel);
    } else {
      auto view = make_cone_view(ctx, s, t, plan);
      view.geometry.views = shape.views;
      view.positions = view.positions + first_view;
      view.elevations = view.elevations + first_view * view.elevation_stride;
      if (view.elevation_stride > 0) view.largest_elevation += first_view;
      kernel::cone_back<B, 1, false> kernel{
          {view, channel_major, shape, plan.groups.all(), back_batches(ctx, t, plan)},
          voxel_columns,
          observe(ctx, plan.offsets),
          true};
      kernel.plan_scratch();
      launch(ctx, kernel.batches.count, kernel);
    }
  }
  /// The partial sums must be few compared with the sinogram; otherwise the fused pass would not save traffic.
  template <class Context>
  static index_t partial_sum_floats([[maybe_unused]] cone_host_tables const& t,
                                    [[maybe_unused]] kernel::chunked_shape const& shape,
                                    [[maybe_unused]] index_t pixels) {
    if constexpr (on_device<Context>) {
      return 0;
    } else {
      index_t const floats = forward_tasks<Context>(t, shape) * pixels * t.padded_slices;
      return 4 * floats <= shape.size() ? floats : 0;
    }
  }
  template <class Context, class VoxelColumns>
  static void fused_update_backproject([[maybe_unused]] Context const& ctx, [[maybe_unused]] scan<Geometry> const& s,
                                       [[maybe_unused]] tables<Context> const& t,
                                       [[maybe_unused]] deferred_update<Context> const& update,
                                       [[maybe_unused]] device_plan<Context> const& plan,
                                       [[maybe_unused]] temporary<float, Context> const& parts,
                                       [[maybe_unused]] VoxelColumns voxel_columns) {
    if constexpr (!on_device<Context>) {
      using B = typename Context::backend;
      auto const& shape = update.shape;
      auto const groups = plan.groups.all();
      index_t const tasks = forward_tasks<Context>(t, shape);
      auto const batches = kernel::batch_groups(groups, 4 * kernel::group_pixels * t.padded_slices, 1);
      index_t const share =
          shape.size() > kernel::prefetch_threshold
              ? round_up(ceil_div(shape.view_size(), std::max<index_t>(1, plan.pixels)), kernel::cache_line_floats)
              : 0;
      kernel::axpy_projection<B> const before{observe(ctx, *update.projection), observe(ctx, update.error), update.step,
                                              shape};
      kernel::cone_fused_update_backproject<B> kernel{
          {make_cone_view(ctx, s, t, plan), before.error, shape, groups, batches}, before, update.plan != nullptr,
          observe(ctx, parts), plan.pixels, t.views_per_task, share};
      kernel.plan_scratch();
      launch(ctx, tasks, kernel);
      launch(ctx, groups.size(),
             kernel::reduce_partials<B>{observe(ctx, parts), voxel_columns, observe(ctx, plan.offsets), tasks,
                                        plan.pixels, {s.geometry().slices, t.padded_slices, t.mirrored}, groups});
    }
  }
  template <class Context> static kernel::chunked_shape forward_shape(cone_geometry const& g) {
    return channel_major_shape<Context>(g);
  }

  template <class Context, class VoxelColumns>
  static void unweighted_hessian(Context const& ctx, scan<Geometry> const& s, device_plan<Context> const& plan,
                                 VoxelColumns voxel_columns) {
    typename Context::backend::template cursor<float const> const no_sinogram{};
    launch_back<2, true>(ctx, s, tables<Context>(ctx, s), no_sinogram, channel_major_shape<Context>(s.geometry()), plan,
                         voxel_columns);
  }
};

}  // namespace mbirk::detail
