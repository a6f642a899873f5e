// The projector operations in cone beam: which kernels run, on which layout.
#pragma once

#include <algorithm>
#include <vector>

#include "mbirk/kernel/host/cone_back.hpp"
#include "mbirk/kernel/host/cone_forward.hpp"
#include "mbirk/projector/operations.hpp"

namespace mbirk::detail {

/// The part that all cone kernels share, and its place in memory.
template <class Context> class cone_setup {
  using B = typename Context::backend;

 public:
  cone_setup(Context const& ctx, cone_scan const& s, kernel::pixel_plan const& plan)
      : padded_(std::max<index_t>(1, ceil_div(s.geometry().slices, B::lanes)) * B::lanes),
        table_(kernel::make_elevations(s, padded_)),
        positions_(s.positions().begin(), s.positions().end()),
        pixels(ctx, plan),
        view{s.geometry(), pixels.rows, pixels.cols, observe_table(ctx, positions_, "view positions"), observe_table(ctx, table_.t, "elevations"),
             table_.largest.data(), table_.stride, padded_, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}} {}

 private:
  index_t padded_;
  kernel::elevation_table table_;
  std::vector<view_position> positions_;

 public:
  observed_plan<Context> pixels;
  kernel::cone_view<B> view;
};

/// One chunk of all rows: resampling needs a whole column.
template <class Context> kernel::chunked_shape cone_shape(cone_geometry const& g) {
  return kernel::make_chunks(g.views, g.channels, g.rows, Context::backend::lanes, std::max<index_t>(1, g.rows));
}

template <> struct projector<cone_geometry> {
  static constexpr char const *forward_name = "cone_forward_project", *back_name = "cone_back_project",
                              *sparse_forward_name = "cone_sparse_forward_project", *sparse_back_name = "cone_sparse_back_project",
                              *hessian_name = "cone_hessian_diagonal";

  /// y = A x over planned pixels, into the caller's sinogram.
  template <class Context, class Cylinders>
  static void forward(Context const& ctx, cone_scan const& s, Cylinders cylinders, kernel::pixel_plan const& plan, view<float, 3> sinogram) {
    using B = typename Context::backend;
    auto const& g = s.geometry();
    auto const shape = cone_shape<Context>(g);
    index_t const views_per_task = views_of_a_task(g.views);
    temporary<float, Context> inside(ctx, "channel-major sinogram", shape.size());
    {
      [[maybe_unused]] auto const guard = ctx.instr.stage("project");
      cone_setup<Context> const setup(ctx, s, plan);
      kernel::cone_forward<B> kernel{setup.view, cylinders, observe(ctx, inside), setup.pixels.offsets, shape, plan.groups, views_per_task};
      kernel.plan_scratch();
      launch(ctx, ceil_div(g.views, views_per_task), kernel);
    }
    store_sinogram(ctx, inside, sinogram, shape);
  }

  template <int Power, bool Unit, class Context, class Sinogram, class Cylinders>
  static void launch_back(Context const& ctx, cone_scan const& s, Sinogram inside, kernel::chunked_shape const& shape, kernel::pixel_plan const& plan,
                 Cylinders cylinders) {
    [[maybe_unused]] auto const guard = ctx.instr.stage("project");
    cone_setup<Context> const setup(ctx, s, plan);
    kernel::cone_back<typename Context::backend, Power, Unit> kernel{setup.view, inside, cylinders, setup.pixels.offsets, shape, plan.groups};
    kernel.plan_scratch();
    launch(ctx, static_cast<index_t>(plan.groups.size()), kernel);
  }

  /// x = A' y (or the elementwise square of A) over planned pixels, into the caller's cylinders.
  template <class Context, class Cylinders>
  static void back(Context const& ctx, cone_scan const& s, view<float const, 3> sinogram, char const* name, kernel::pixel_plan const& plan,
                 int coeff_power, Cylinders cylinders) {
    auto const shape = cone_shape<Context>(s.geometry());
    temporary<float, Context> inside(ctx, "channel-major sinogram", shape.size());
    load_sinogram(ctx, sinogram, inside, shape, name);
    if (coeff_power == 2) launch_back<2, false>(ctx, s, observe(ctx, inside), shape, plan, cylinders);
    else launch_back<1, false>(ctx, s, observe(ctx, inside), shape, plan, cylinders);
  }

  template <class Context, class Cylinders>
  static void unit_hessian(Context const& ctx, cone_scan const& s, kernel::pixel_plan const& plan, Cylinders cylinders) {
    typename Context::backend::template cursor<float const> const no_sinogram{};
    launch_back<2, true>(ctx, s, no_sinogram, cone_shape<Context>(s.geometry()), plan, cylinders);
  }
};

}  // namespace mbirk::detail
