// Projection of multi-axis parallel beam: selects the kernels of the projector operations and the layouts of their
// arrays.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "mbirk/kernel/device/multiaxis_block_back.hpp"
#include "mbirk/kernel/device/multiaxis_gather.hpp"
#include "mbirk/kernel/host/multiaxis_back.hpp"
#include "mbirk/kernel/host/multiaxis_forward.hpp"
#include "mbirk/projector/operations.hpp"

namespace mbirk::detail {

/// Passes over all views, computed once for many projections.
template <class Context> struct multiaxis_tables {
  std::vector<kernel::multiaxis_taps> passes;
  std::vector<kernel::view_taps_range> ranges;  ///< host only: one per forward task
  std::vector<kernel::multiaxis_taps> views;    ///< device only: the first pass of every view
  device_table<kernel::multiaxis_taps, Context> device_passes, device_views;

  multiaxis_tables(Context const& ctx, std::vector<kernel::multiaxis_taps> passes_of_views, index_t views_per_task)
      : passes(std::move(passes_of_views)),
        ranges(on_device<Context> ? std::vector<kernel::view_taps_range>() : ranges_of(passes, views_per_task)),
        views(on_device<Context> ? first_passes(passes) : std::vector<kernel::multiaxis_taps>()),
        device_passes(ctx, passes, "passes"),
        device_views(ctx, views, "views") {}
  template <class Scan>
  multiaxis_tables(Context const& ctx, Scan const& s)
      : multiaxis_tables(ctx, kernel::make_multiaxis_taps(s), fitting_views(ctx, s.geometry().views, 1)) {}
  /// Tables for an iterative reconstruction.
  template <class Scan>
  multiaxis_tables(Context const& ctx, Scan const& s, kernel::chunked_shape const&)
      : multiaxis_tables(ctx, kernel::make_multiaxis_taps(s), views_of_a_task<Context>(s.geometry().views)) {}
  multiaxis_tables(multiaxis_tables const&) = delete;
  multiaxis_tables& operator=(multiaxis_tables const&) = delete;

 private:
  static std::vector<kernel::view_taps_range> ranges_of(std::vector<kernel::multiaxis_taps> const& passes,
                                                        index_t views_per_task) {
    std::vector<kernel::view_taps_range> ranges;
    for (std::size_t p = 0; p < passes.size(); ++p) {
      auto const& channels = passes[p].channels;
      if (channels.first_tap == 0 && channels.view % views_per_task == 0)
        ranges.push_back({static_cast<index_t>(p), 0});
      ++ranges.back().count;
    }
    return ranges;
  }
  static std::vector<kernel::multiaxis_taps> first_passes(std::vector<kernel::multiaxis_taps> passes) {
    std::erase_if(passes, [](auto const& p) { return p.channels.first_tap != 0; });
    return passes;
  }
};

/// Kernels of multi-axis parallel beam, for every geometry whose views kernel::make_multiaxis_taps describes.
template <class Geometry> struct multiaxis_projector : keeps_every_projection {
  template <class Context> using tables = multiaxis_tables<Context>;

  /// One chunk with all rows, because resampling needs a whole detector column.
  template <class Context> static kernel::chunked_shape channel_major_shape(Geometry const& g) {
    return kernel::make_chunks(g.views, g.channels, g.rows, Context::backend::lanes, std::max<index_t>(1, g.rows));
  }
  template <class Context> static kernel::chunked_shape forward_shape(Geometry const& g) {
    return channel_major_shape<Context>(g);
  }
  template <class Context>
  static index_t forward_tasks([[maybe_unused]] tables<Context> const& t, kernel::chunked_shape const& shape) {
    return on_device<Context> ? shape.views : std::ssize(t.ranges);
  }

  /// Part shared by the host's kernels.
  template <class Context>
  static kernel::multiaxis_view<typename Context::backend> view_of(Context const& ctx, scan<Geometry> const& s,
                                                                   kernel::chunked_shape const& shape,
                                                                   device_plan<Context> const& plan) {
    return {observe(ctx, plan.rows), observe(ctx, plan.cols), s.geometry().slices, shape};
  }

  /// y = A x over planned pixels into a channel-major sinogram; the views are passed to the epilogue.
  template <class Context, class VoxelColumns, class Epilogue>
  static void project_channel_major(Context const& ctx, scan<Geometry> const& s, tables<Context> const& t,
                                    VoxelColumns voxel_columns, device_plan<Context> const& plan,
                                    typename Context::backend::template cursor<float> channel_major,
                                    kernel::chunked_shape const& shape, Epilogue const& epilogue) {
    using B = typename Context::backend;
    if constexpr (on_device<Context>) {
      kernel::multiaxis_gather<B> const kernel{
          s.geometry().slices, voxel_columns, channel_major, observe(ctx, plan.rows), observe(ctx, plan.cols),
          observe(ctx, plan.offsets), plan.bounds.boxes(ctx), observe(ctx, t.device_views), shape,
          {shape.packs, kernel::multiaxis_gather<B>::most_packs}, plan.groups.all()};
      launch(ctx, kernel.tasks(), kernel);
      run_epilogue(ctx, channel_major, shape, epilogue);
    } else {
      kernel::multiaxis_forward<B, Epilogue> kernel{
          {view_of(ctx, s, shape, plan), voxel_columns, channel_major, observe(ctx, plan.offsets),
           observe(ctx, t.device_passes), {t.ranges.data(), std::ssize(t.ranges)}, shape, plan.groups.all()},
          epilogue};
      kernel.plan_scratch();
      launch(ctx, forward_tasks<Context>(t, shape), kernel);
    }
  }

  template <int Power, bool Unit, class Context, class Sinogram, class VoxelColumns>
  static void launch_back(Context const& ctx, scan<Geometry> const& s, tables<Context> const& t, Sinogram channel_major,
                          kernel::chunked_shape const& shape, device_plan<Context> const& plan,
                          VoxelColumns voxel_columns) {
    using B = typename Context::backend;
    index_t const slices = s.geometry().slices;
    if constexpr (on_device<Context>) {
      using block_back = kernel::multiaxis_block_back<B, Power, Unit>;
      launch_blocks(ctx, block_back{slices, channel_major, voxel_columns, observe(ctx, plan.rows),
                                    observe(ctx, plan.cols), observe(ctx, plan.offsets), observe(ctx, t.device_passes),
                                    t.device_passes.size(), shape,
                                    {std::max<index_t>(1, ceil_div(slices, index_t{B::lanes})), block_back::most_packs},
                                    plan.groups.all()});
    } else {
      auto const view = view_of(ctx, s, shape, plan);
      auto const batches = kernel::batch_groups(plan.groups.all(), 4 * kernel::group_pixels * view.padded_slices(),
                                                workers_for(ctx, plan.groups.size()));
      kernel::multiaxis_back<B, Power, Unit> kernel{view, channel_major, voxel_columns, observe(ctx, plan.offsets),
                                                    observe(ctx, t.device_passes), t.device_passes.size(), shape,
                                                    plan.groups.all(), batches};
      kernel.plan_scratch();
      launch(ctx, batches.count, kernel);
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
  template <class Context, class VoxelColumns>
  static void unweighted_hessian(Context const& ctx, scan<Geometry> const& s, device_plan<Context> const& plan,
                                 VoxelColumns voxel_columns) {
    unweighted_hessian(ctx, s, tables<Context>(ctx, s), plan, voxel_columns);
  }
  template <class Context, class VoxelColumns>
  static void unweighted_hessian(Context const& ctx, scan<Geometry> const& s, tables<Context> const& t,
                                 device_plan<Context> const& plan, VoxelColumns voxel_columns) {
    typename Context::backend::template cursor<float const> const no_sinogram{};
    launch_back<2, true>(ctx, s, t, no_sinogram, channel_major_shape<Context>(s.geometry()), plan, voxel_columns);
  }

  /// No pass updates the error and projects it back at once.
  template <class Context>
  static index_t partial_sum_floats(tables<Context> const&, kernel::chunked_shape const&, index_t) {
    return 0;
  }
  template <class Context, class VoxelColumns>
  static void fused_update_backproject(Context const&, scan<Geometry> const&, tables<Context> const&,
                                       deferred_update<Context> const&, device_plan<Context> const&,
                                       temporary<float, Context> const&, VoxelColumns) {}
};

template <> struct projector<multiaxis_geometry> : multiaxis_projector<multiaxis_geometry> {};

}  // namespace mbirk::detail

#if defined(MBIRK_COMPILED)
#include "mbirk/projector/all.hpp"  // declares the instances of all projectors
#endif
