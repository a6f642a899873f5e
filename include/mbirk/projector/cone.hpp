// The projector operations in cone beam: which kernels run, on which layout.
#pragma once

#include <algorithm>
#include <vector>

#include "mbirk/kernel/host/cone_back.hpp"
#include "mbirk/kernel/host/cone_forward.hpp"
#include "mbirk/projector/operations.hpp"

namespace mbirk::detail {

/// What depends on the scan only, made once for many projections.
struct cone_tables {
  index_t padded_slices = 0, views_per_task = 0;
  kernel::elevation_table elevations;
  std::vector<view_position> positions;

  cone_tables(cone_scan const& s, int lanes)
      : padded_slices(std::max<index_t>(1, ceil_div(s.geometry().slices, lanes)) * lanes),
        views_per_task(views_of_a_task(s.geometry().views)),
        elevations(kernel::make_elevations(s, padded_slices)),
        positions(s.positions().begin(), s.positions().end()) {}
};

/// The part that all cone kernels share, and its place in memory.
template <class Context> struct cone_setup {
  observed_plan<Context> pixels;
  kernel::cone_view<typename Context::backend> view;

  cone_setup(Context const& ctx, cone_scan const& s, cone_tables const& t, kernel::pixel_plan const& plan)
      : pixels(ctx, plan),
        view{s.geometry(), pixels.rows, pixels.cols, observe_table(ctx, t.positions, "view positions"),
             observe_table(ctx, t.elevations.t, "elevations"), t.elevations.largest.data(), t.elevations.stride, t.padded_slices,
             {}, {}, {}, {}, {}, {}, {}, {}, {}, {}} {}
};

template <> struct projector<cone_geometry> {
  static constexpr char const *forward_name = "cone_forward_project", *back_name = "cone_back_project",
                              *sparse_forward_name = "cone_sparse_forward_project", *sparse_back_name = "cone_sparse_back_project",
                              *hessian_name = "cone_hessian_diagonal";
  using tables = cone_tables;
  /// In an iterative reconstruction the projection of a subset is kept for the update: a second one would cost more than an array.
  static constexpr bool keeps_projection = true;
  template <class Context> static tables make_full_tables(cone_scan const& s) { return {s, Context::backend::lanes}; }
  template <class Context> static tables make_tables(cone_scan const& s, kernel::chunked_shape const&) { return {s, Context::backend::lanes}; }

  /// One chunk of all rows: resampling needs a whole column.
  template <class Context> static kernel::chunked_shape inside_shape(cone_geometry const& g) {
    return kernel::make_chunks(g.views, g.channels, g.rows, Context::backend::lanes, std::max<index_t>(1, g.rows));
  }
  static index_t forward_tasks(tables const& t, kernel::chunked_shape const& shape) { return ceil_div(shape.views, t.views_per_task); }

  /// y = A x over planned pixels into a channel-major sinogram; the sink gets the views.
  template <class Context, class Cylinders, class Sink>
  static void forward_inside(Context const& ctx, cone_scan const& s, tables const& t, Cylinders cylinders, kernel::pixel_plan const& plan,
                             typename Context::backend::template cursor<float> inside, kernel::chunked_shape const& shape, Sink const& sink) {
    cone_setup<Context> const setup(ctx, s, t, plan);
    kernel::cone_forward<typename Context::backend, Sink> kernel{
        {setup.view, cylinders, inside, setup.pixels.offsets, shape, plan.groups, t.views_per_task}, sink};
    kernel.plan_scratch();
    launch(ctx, forward_tasks(t, shape), kernel);
  }

  template <int Power, bool Unit, class Context, class Sinogram, class Cylinders>
  static void launch_back(Context const& ctx, cone_scan const& s, tables const& t, Sinogram inside, kernel::chunked_shape const& shape,
                          kernel::pixel_plan const& plan, Cylinders cylinders) {
    cone_setup<Context> const setup(ctx, s, t, plan);
    kernel::cone_back<typename Context::backend, Power, Unit> kernel{setup.view, inside, cylinders, setup.pixels.offsets, shape, plan.groups};
    kernel.plan_scratch();
    launch(ctx, static_cast<index_t>(plan.groups.size()), kernel);
  }
  /// x = A' y (or the elementwise square of A) over planned pixels, from a channel-major sinogram.
  template <class Context, class Cylinders>
  static void back_inside(Context const& ctx, cone_scan const& s, tables const& t, typename Context::backend::template cursor<float const> inside,
                          kernel::chunked_shape const& shape, kernel::pixel_plan const& plan, int coeff_power, Cylinders cylinders) {
    if (coeff_power == 2) launch_back<2, false>(ctx, s, t, inside, shape, plan, cylinders);
    else launch_back<1, false>(ctx, s, t, inside, shape, plan, cylinders);
  }

  /// y = A x over planned pixels, into the caller's sinogram.
  template <class Context, class Cylinders>
  static void forward(Context const& ctx, cone_scan const& s, Cylinders cylinders, kernel::pixel_plan const& plan, view<float, 3> sinogram) {
    using B = typename Context::backend;
    auto const shape = inside_shape<Context>(s.geometry());
    temporary<float, Context> inside(ctx, "channel-major sinogram", shape.size());
    {
      [[maybe_unused]] auto const guard = ctx.instr.stage("project");
      forward_inside(ctx, s, tables(s, B::lanes), cylinders, plan, observe(ctx, inside), shape, kernel::keep_views<B>{});
    }
    store_sinogram(ctx, inside, sinogram, shape);
  }

  /// x = A' y (or the elementwise square of A) over planned pixels, into the caller's cylinders.
  template <class Context, class Cylinders>
  static void back(Context const& ctx, cone_scan const& s, view<float const, 3> sinogram, char const* name, kernel::pixel_plan const& plan,
                   int coeff_power, Cylinders cylinders) {
    auto const shape = inside_shape<Context>(s.geometry());
    temporary<float, Context> inside(ctx, "channel-major sinogram", shape.size());
    load_sinogram(ctx, sinogram, inside, shape, name);
    [[maybe_unused]] auto const guard = ctx.instr.stage("project");
    back_inside(ctx, s, tables(s, Context::backend::lanes), observe(ctx, inside), shape, plan, coeff_power, cylinders);
  }

  template <class Context, class Cylinders>
  static void unit_hessian(Context const& ctx, cone_scan const& s, kernel::pixel_plan const& plan, Cylinders cylinders) {
    using B = typename Context::backend;
    typename B::template cursor<float const> const no_sinogram{};
    [[maybe_unused]] auto const guard = ctx.instr.stage("project");
    launch_back<2, true>(ctx, s, tables(s, B::lanes), no_sinogram, inside_shape<Context>(s.geometry()), plan, cylinders);
  }
};

}  // namespace mbirk::detail
