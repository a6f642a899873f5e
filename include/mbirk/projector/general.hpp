// Projection of general views: selects the kernels of the projector operations and the layouts of their arrays.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "mbirk/kernel/device/general_gather.hpp"
#include "mbirk/kernel/device/on_warps.hpp"
#include "mbirk/kernel/host/general_back.hpp"
#include "mbirk/kernel/host/general_forward.hpp"
#include "mbirk/geometry/upright.hpp"
#include "mbirk/projector/cone_projector.hpp"
#include "mbirk/projector/multiaxis.hpp"
#include "mbirk/projector/operations.hpp"

namespace mbirk::detail {

template <> struct projector<upright_geometry> : cone_projector<upright_geometry> {};

/// A scan as the kernels of cone beam project it, with their tables.
template <class Context> struct upright_projection {
  using kernels = projector<upright_geometry>;
  scan<upright_geometry> scan_;
  cone_tables<Context> tables;

  template <class... Shape>
  upright_projection(Context const& ctx, upright_parameters const& p, Shape const&... shape)
      : scan_(p), tables(ctx, scan_, shape...) {}
};

/// Places of all views, for many projections. Views that are separable are projected by the kernels of cone beam or of
/// multi-axis parallel beam, others by kernels that compute a footprint per voxel.
template <class Context> struct general_tables {
  std::unique_ptr<upright_projection<Context> const> upright;
  std::unique_ptr<multiaxis_tables<Context> const> separable;
  std::vector<general_position> views;  ///< empty if the kernels are others'
  index_t views_per_task;               ///< of the host's forward projection
  device_table<general_position, Context> device_views;

  general_tables(Context const& ctx, general_scan const& s)
      : general_tables(ctx, s, fitting_views(ctx, s.geometry().views, 1), std::nullopt) {}
  /// Tables for an iterative reconstruction.
  general_tables(Context const& ctx, general_scan const& s, kernel::chunked_shape const& shape)
      : general_tables(ctx, s, views_of_a_task<Context>(s.geometry().views), shape) {}
  general_tables(general_tables const&) = delete;
  general_tables& operator=(general_tables const&) = delete;

 private:
  general_tables(Context const& ctx, general_scan const& s, index_t at_once,
                 std::optional<kernel::chunked_shape> const& shape)
      : upright(find(ctx, s, shape)),
        separable(find_separable(ctx, s, shape)),
        views(upright || separable ? std::vector<general_position>()
                                   : std::vector<general_position>(s.positions().begin(), s.positions().end())),
        views_per_task(at_once),
        device_views(ctx, views, "views") {}

  static std::unique_ptr<upright_projection<Context> const> find(Context const& ctx, general_scan const& s,
                                                                 std::optional<kernel::chunked_shape> const& shape) {
    auto const p = find_upright(s);
    if (!p) return nullptr;
    if (shape) return std::make_unique<upright_projection<Context> const>(ctx, *p, *shape);
    return std::make_unique<upright_projection<Context> const>(ctx, *p);
  }
  static std::unique_ptr<multiaxis_tables<Context> const> find_separable(
      Context const& ctx, general_scan const& s, std::optional<kernel::chunked_shape> const& shape) {
    auto passes = kernel::make_multiaxis_taps(s);
    if (passes.empty()) return nullptr;
    index_t const views = s.geometry().views;
    return std::make_unique<multiaxis_tables<Context> const>(
        ctx, std::move(passes), shape ? views_of_a_task<Context>(views) : fitting_views(ctx, views, 1));
  }
};

template <> struct projector<general_geometry> : keeps_every_projection {
  template <class Context> using tables = general_tables<Context>;
  using upright = projector<upright_geometry>;
  using separable = multiaxis_projector<general_geometry>;

  /// One chunk with all rows, because the rows of a voxel column differ from channel to channel.
  template <class Context> static kernel::chunked_shape channel_major_shape(general_geometry const& g) {
    return kernel::make_chunks(g.views, g.channels, g.rows, Context::backend::lanes, std::max<index_t>(1, g.rows));
  }
  template <class Context> static kernel::chunked_shape forward_shape(general_geometry const& g) {
    return channel_major_shape<Context>(g);
  }
  template <class Context>
  static index_t forward_tasks(tables<Context> const& t, kernel::chunked_shape const& shape) {
    if (t.upright) return upright::forward_tasks<Context>(t.upright->tables, shape);
    if (t.separable) return separable::forward_tasks<Context>(*t.separable, shape);
    return on_device<Context> ? shape.views : ceil_div(shape.views, t.views_per_task);
  }

  /// y = A x over planned pixels into a channel-major sinogram; the views are passed to the epilogue.
  template <class Context, class VoxelColumns, class Epilogue>
  static void project_channel_major(Context const& ctx, general_scan const& s, tables<Context> const& t,
                                    VoxelColumns voxel_columns, device_plan<Context> const& plan,
                                    typename Context::backend::template cursor<float> channel_major,
                                    kernel::chunked_shape const& shape, Epilogue const& epilogue) {
    if (t.upright)
      return upright::project_channel_major(ctx, t.upright->scan_, t.upright->tables, voxel_columns, plan,
                                            channel_major, shape, epilogue);
    if (t.separable)
      return separable::project_channel_major(ctx, s, *t.separable, voxel_columns, plan, channel_major, shape,
                                              epilogue);
    using B = typename Context::backend;
    index_t const slices = s.geometry().slices;
    if constexpr (on_device<Context>) {
      kernel::general_gather<B> const kernel{
          slices, voxel_columns, channel_major, observe(ctx, plan.rows), observe(ctx, plan.cols),
          observe(ctx, plan.offsets), plan.bounds.boxes(ctx), observe(ctx, t.device_views), shape,
          {shape.packs, kernel::general_gather<B>::most_packs}, plan.groups.all()};
      launch(ctx, kernel.tasks(), kernel);
      run_epilogue(ctx, channel_major, shape, epilogue);
    } else {
      kernel::general_forward<B, Epilogue> kernel{
          {slices, t.views_per_task, voxel_columns, channel_major, observe(ctx, plan.rows), observe(ctx, plan.cols),
           observe(ctx, plan.offsets), observe(ctx, t.device_views), shape, plan.groups.all()},
          epilogue};
      kernel.plan_scratch();
      launch(ctx, forward_tasks<Context>(t, shape), kernel);
    }
  }

  template <int Power, bool Unit, class Context, class Sinogram, class VoxelColumns>
  static void launch_back(Context const& ctx, general_scan const& s, tables<Context> const& t, Sinogram channel_major,
                          kernel::chunked_shape const& shape, device_plan<Context> const& plan,
                          VoxelColumns voxel_columns) {
    using B = typename Context::backend;
    index_t const slices = s.geometry().slices;
    kernel::general_slices<B, Power, Unit> const column{slices, shape};
    if constexpr (on_device<Context>) {
      using gather = kernel::general_back_gather<B, Power, Unit>;
      gather const kernel{column, channel_major, voxel_columns, observe(ctx, plan.rows), observe(ctx, plan.cols),
                          observe(ctx, plan.offsets), observe(ctx, t.device_views), plan.pixels,
                          {std::max<index_t>(1, ceil_div(slices, index_t{B::lanes})), gather::most_packs}};
      launch(ctx, kernel.tasks(), kernel);
    } else {
      index_t const padded = std::max<index_t>(1, ceil_div(slices, index_t{B::lanes})) * B::lanes;
      kernel::general_back<B, Power, Unit> kernel{
          column, channel_major, voxel_columns, observe(ctx, plan.rows), observe(ctx, plan.cols),
          observe(ctx, plan.offsets), observe(ctx, t.device_views), plan.groups.all(),
          kernel::batch_groups(plan.groups.all(), 4 * kernel::group_pixels * padded,
                               workers_for(ctx, plan.groups.size()))};
      kernel.plan_scratch();
      launch(ctx, kernel.batches.count, kernel);
    }
  }
  /// x = A' y (or with the elementwise square of A) over planned pixels, from a channel-major sinogram.
  template <class Context, class VoxelColumns>
  static void back_project_channel_major(Context const& ctx, general_scan const& s, tables<Context> const& t,
                                         typename Context::backend::template cursor<float const> channel_major,
                                         kernel::chunked_shape const& shape, device_plan<Context> const& plan,
                                         int coeff_power, VoxelColumns voxel_columns) {
    if (t.upright)
      return upright::back_project_channel_major(ctx, t.upright->scan_, t.upright->tables, channel_major, shape, plan,
                                                 coeff_power, voxel_columns);
    if (t.separable)
      return separable::back_project_channel_major(ctx, s, *t.separable, channel_major, shape, plan, coeff_power,
                                                   voxel_columns);
    if (coeff_power == 2) launch_back<2, false>(ctx, s, t, channel_major, shape, plan, voxel_columns);
    else launch_back<1, false>(ctx, s, t, channel_major, shape, plan, voxel_columns);
  }
  template <class Context, class VoxelColumns>
  static void unweighted_hessian(Context const& ctx, general_scan const& s, device_plan<Context> const& plan,
                                 VoxelColumns voxel_columns) {
    tables<Context> const t(ctx, s);
    if (t.upright) return upright::unweighted_hessian(ctx, t.upright->scan_, plan, voxel_columns);
    if (t.separable) return separable::unweighted_hessian(ctx, s, *t.separable, plan, voxel_columns);
    typename Context::backend::template cursor<float const> const no_sinogram{};
    launch_back<2, true>(ctx, s, t, no_sinogram, channel_major_shape<Context>(s.geometry()), plan, voxel_columns);
  }

  /// Only the kernels of cone beam update the error and project it back at once.
  template <class Context>
  static index_t partial_sum_floats(tables<Context> const& t, kernel::chunked_shape const& shape, index_t pixels) {
    return t.upright ? upright::partial_sum_floats<Context>(t.upright->tables, shape, pixels) : 0;
  }
  template <class Context, class VoxelColumns>
  static void fused_update_backproject(Context const& ctx, general_scan const&, tables<Context> const& t,
                                       deferred_update<Context> const& update, device_plan<Context> const& plan,
                                       temporary<float, Context> const& parts, VoxelColumns voxel_columns) {
    upright::fused_update_backproject(ctx, t.upright->scan_, t.upright->tables, update, plan, parts, voxel_columns);
  }
};

}  // namespace mbirk::detail

#if defined(MBIRK_COMPILED)
#include "mbirk/projector/all.hpp"  // declares the instances of all projectors
#endif
