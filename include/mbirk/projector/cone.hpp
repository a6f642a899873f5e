// The projector operations in cone beam: which kernels run, on which layout.
#pragma once

#include <algorithm>
#include <vector>

#include "mbirk/kernel/device/cone_block_back.hpp"
#include "mbirk/kernel/device/cone_gather.hpp"
#include "mbirk/kernel/host/cone_back.hpp"
#include "mbirk/kernel/host/cone_forward.hpp"
#include "mbirk/projector/operations.hpp"

namespace mbirk::detail {

/// What depends on the scan only, made once for many projections.
struct cone_host_tables {
  index_t padded_slices = 0, views_per_task = 0;
  bool mirrored = false;
  kernel::elevation_table elevations;
  std::vector<view_position> positions;

  cone_host_tables(cone_scan const& s, int lanes, index_t views_of_forward_task)
      : padded_slices(std::max<index_t>(1, ceil_div(s.geometry().slices, lanes)) * lanes),
        views_per_task(views_of_forward_task),
        mirrored(kernel::is_mirrored(s, lanes)),
        elevations(kernel::make_elevations(s, padded_slices)),
        positions(s.positions().begin(), s.positions().end()) {}
};
template <class Context> struct cone_tables : cone_host_tables {
  table<float, Context> placed_elevations;
  table<view_position, Context> placed_positions;

  cone_tables(Context const& ctx, cone_scan const& s, index_t views_of_forward_task)
      : cone_host_tables(s, Context::backend::lanes, views_of_forward_task),
        placed_elevations(ctx, elevations.t, "elevations"),
        placed_positions(ctx, positions, "view positions") {}
  cone_tables(Context const& ctx, cone_scan const& s) : cone_tables(ctx, s, fitting_views(ctx, s.geometry().views, 1)) {}
  /// For an iterative reconstruction.
  cone_tables(Context const& ctx, cone_scan const& s, kernel::chunked_shape const&) : cone_tables(ctx, s, views_of_a_task<Context>(s.geometry().views)) {}
  cone_tables(cone_tables const&) = delete;
  cone_tables& operator=(cone_tables const&) = delete;
};

/// The part that the cone kernels of tasks share. may_mirror: the kernel knows of mirrored views.
template <class Context>
kernel::cone_view<typename Context::backend> make_cone_view(Context const& ctx, cone_scan const& s, cone_tables<Context> const& t,
                                                            placed_plan<Context> const& plan, bool may_mirror = true) {
  return {s.geometry(), observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, t.placed_positions), observe(ctx, t.placed_elevations),
          t.elevations.largest.data(), t.elevations.stride, t.padded_slices, may_mirror && t.mirrored};
}

template <> struct projector<cone_geometry> {
  static constexpr char const *forward_name = "cone_forward_project", *back_name = "cone_back_project",
                              *sparse_forward_name = "cone_sparse_forward_project", *sparse_back_name = "cone_sparse_back_project",
                              *hessian_name = "cone_hessian_diagonal";
  template <class Context> using tables = cone_tables<Context>;
  /// In an iterative reconstruction the projection of a subset is kept for the update: a second one would cost more than an array.
  template <class Context> static constexpr bool always_keeps_projection = true;

  /// And the back projection of a small subset goes by views, and takes the update of the error along.
  template <class Context> static constexpr bool goes_by_views = !on_device<Context>;

  /// One chunk of all rows: resampling needs a whole column.
  template <class Context> static kernel::chunked_shape inside_shape(cone_geometry const& g) {
    return kernel::make_chunks(g.views, g.channels, g.rows, Context::backend::lanes, std::max<index_t>(1, g.rows));
  }
  template <class Context> static index_t forward_tasks(cone_host_tables const& t, kernel::chunked_shape const& shape) { return ceil_div(shape.views, t.views_per_task); }

  /// y = A x over planned pixels into a channel-major sinogram; the sink gets the views.
  template <class Context, class Cylinders, class Sink>
  static void forward_inside(Context const& ctx, cone_scan const& s, tables<Context> const& t, Cylinders cylinders, placed_plan<Context> const& plan,
                             typename Context::backend::template cursor<float> inside, kernel::chunked_shape const& shape, Sink const& sink) {
    using B = typename Context::backend;
    if constexpr (on_device<Context>) {
      auto const& boxes = plan.boxes;
      kernel::cone_gather<B> const kernel{s.geometry(), cylinders, inside, observe(ctx, plan.rows), observe(ctx, plan.cols),
                                          observe(ctx, plan.offsets), observe(ctx, boxes.row_middle), observe(ctx, boxes.row_reach),
                                          observe(ctx, boxes.col_middle), observe(ctx, boxes.col_reach), observe(ctx, t.placed_positions),
                                          observe(ctx, t.placed_elevations), t.elevations.stride, shape,
                                          {shape.packs, kernel::cone_gather<B>::most_packs}, plan.groups.all()};
      launch(ctx, kernel.tasks(), kernel);
      show_views(ctx, inside, shape, sink);
    } else {
      kernel::cone_forward<B, Sink> kernel{
          {make_cone_view(ctx, s, t, plan), cylinders, inside, observe(ctx, plan.offsets), shape, plan.groups.all(),
           kernel::batch_groups(plan.groups.all(), 4 * kernel::group_pixels * t.padded_slices, 1), t.views_per_task}, sink};
      kernel.plan_scratch();
      launch(ctx, forward_tasks<Context>(t, shape), kernel);
    }
  }

  template <int Power, bool Unit, class Context, class Sinogram, class Cylinders>
  static void launch_back(Context const& ctx, cone_scan const& s, tables<Context> const& t, Sinogram inside, kernel::chunked_shape const& shape,
                          placed_plan<Context> const& plan, Cylinders cylinders) {
    using B = typename Context::backend;
    if constexpr (on_device<Context>) {
      using block_back = kernel::cone_block_back<B, Power, Unit>;
      launch_blocks(ctx, block_back{s.geometry(), inside, cylinders, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, plan.offsets),
                                    observe(ctx, t.placed_positions), observe(ctx, t.placed_elevations), t.elevations.stride, shape,
                                    {t.padded_slices / B::lanes, block_back::most_packs}, plan.groups.all()});
    } else {
      auto const batches = kernel::batch_groups(plan.groups.all(), 4 * kernel::group_pixels * t.padded_slices, workers_for(ctx, plan.groups.size()));
      kernel::cone_back<B, Power, Unit> kernel{{make_cone_view(ctx, s, t, plan), inside, shape, plan.groups.all(), batches}, cylinders, observe(ctx, plan.offsets)};
      kernel.plan_scratch();
      launch(ctx, kernel.batches.count, kernel);
    }
  }
  /// x = A' y (or the elementwise square of A) over planned pixels, from a channel-major sinogram.
  template <class Context, class Cylinders>
  static void back_inside(Context const& ctx, cone_scan const& s, tables<Context> const& t, typename Context::backend::template cursor<float const> inside,
                          kernel::chunked_shape const& shape, placed_plan<Context> const& plan, int coeff_power, Cylinders cylinders) {
    if (coeff_power == 2) launch_back<2, false>(ctx, s, t, inside, shape, plan, cylinders);
    else launch_back<1, false>(ctx, s, t, inside, shape, plan, cylinders);
  }
  /// Floats that back_by_views needs for so many pixels; 0 where it would not save traffic, because they are not few beside the sinogram.
  template <class Context> static index_t parts_by_views(cone_host_tables const& t, kernel::chunked_shape const& shape, index_t pixels) {
    index_t const floats = forward_tasks<Context>(t, shape) * pixels * t.padded_slices;
    return 4 * floats <= shape.size() ? floats : 0;
  }
  /// x = A' (w e) over a list, where the error first loses the step of the subset before, if there is one: one pass over both.
  template <class Context, class Cylinders>
  static void back_by_views(Context const& ctx, cone_scan const& s, tables<Context> const& t, kernel::subtract_kept<typename Context::backend> const& before,
                            bool before_first, placed_plan<Context> const& plan, temporary<float, Context> const& parts, Cylinders cylinders) {
    using B = typename Context::backend;
    auto const& shape = before.shape;
    auto const groups = plan.groups.all();
    index_t const tasks = forward_tasks<Context>(t, shape);
    auto const batches = kernel::batch_groups(groups, 4 * kernel::group_pixels * t.padded_slices, 1);
    index_t const share = shape.size() > kernel::far_away ? round_up(ceil_div(shape.view_size(), std::max<index_t>(1, plan.pixels)), kernel::fetched_line) : 0;
    kernel::cone_back_by_views<B> kernel{{make_cone_view(ctx, s, t, plan), before.error, shape, groups, batches},
                                         before, before_first, observe(ctx, parts), plan.pixels, t.views_per_task, share};
    kernel.plan_scratch();
    launch(ctx, tasks, kernel);
    launch(ctx, groups.size(), kernel::add_parts<B>{observe(ctx, parts), cylinders, observe(ctx, plan.offsets), tasks, plan.pixels,
                                                    {s.geometry().slices, t.padded_slices, t.mirrored}, groups});
  }
  template <class Context> static kernel::chunked_shape forward_shape(cone_geometry const& g) { return inside_shape<Context>(g); }

  template <class Context, class Cylinders>
  static void unit_hessian(Context const& ctx, cone_scan const& s, placed_plan<Context> const& plan, Cylinders cylinders) {
    typename Context::backend::template cursor<float const> const no_sinogram{};
    launch_back<2, true>(ctx, s, tables<Context>(ctx, s), no_sinogram, inside_shape<Context>(s.geometry()), plan, cylinders);
  }
};

}  // namespace mbirk::detail

#if defined(MBIRK_COMPILED)
#include "mbirk/instances/projectors.hpp"
#endif
