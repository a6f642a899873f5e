// The projector operations in parallel beam: which kernels run, on which layout.
#pragma once

#include <algorithm>
#include <tuple>

#include "mbirk/kernel/host/parallel_back.hpp"
#include "mbirk/kernel/host/parallel_forward.hpp"
#include "mbirk/kernel/host/parallel_hessian.hpp"
#include "mbirk/projector/operations.hpp"

namespace mbirk::detail {

template <> struct projector<parallel_geometry> {
  static constexpr char const *forward_name = "parallel_forward_project", *back_name = "parallel_back_project",
                              *sparse_forward_name = "parallel_sparse_forward_project", *sparse_back_name = "parallel_sparse_back_project",
                              *hessian_name = "parallel_hessian_diagonal";

  /// y = A x over planned pixels, into the caller's sinogram.
  template <class Context, class Cylinders>
  static void forward(Context const& ctx, parallel_scan const& s, Cylinders cylinders, kernel::pixel_plan const& plan, view<float, 3> sinogram) {
    using B = typename Context::backend;
    auto const& g = s.geometry();
    auto const shape = kernel::make_chunks(g.views, g.channels, g.rows, B::lanes, kernel::parallel_forward<B>::most_packs);
    auto const passes = kernel::make_passes(s);
    std::vector<std::int32_t> order(passes.size() * kernel::group_pixels);
    for (std::size_t p = 0; p < passes.size(); ++p) kernel::sort_tile(passes[p], order.data() + p * kernel::group_pixels);

    index_t const views_per_task = views_of_a_task(g.views);
    std::vector<kernel::pass_range> ranges;
    for (std::size_t p = 0; p < passes.size(); ++p) {
      if (passes[p].first_tap == 0 && passes[p].view % views_per_task == 0) ranges.push_back({static_cast<index_t>(p), 0});
      ++ranges.back().count;
    }

    temporary<float, Context> inside(ctx, "channel-major sinogram", shape.size());
    {
      [[maybe_unused]] auto const guard = ctx.instr.stage("project");
      observed_plan<Context> const pixels(ctx, plan);
      kernel::parallel_forward<B> kernel{cylinders, observe(ctx, inside), pixels.rows, pixels.cols, pixels.offsets,
                                         observe_table(ctx, passes, "passes"), observe_table(ctx, order, "tile order"),
                                         ranges.data(), shape, plan.groups};
      kernel.plan_scratch();
      launch(ctx, static_cast<index_t>(ranges.size()) * shape.chunks, kernel);
    }
    store_sinogram(ctx, inside, sinogram, shape);
  }

  /// x = A' y (or the elementwise square of A) over planned pixels, into the caller's cylinders.
  template <class Context, class Cylinders>
  static void back(Context const& ctx, parallel_scan const& s, view<float const, 3> sinogram, char const* name, kernel::pixel_plan const& plan,
                     int coeff_power, Cylinders cylinders) {
    using B = typename Context::backend;
    auto const& g = s.geometry();
    auto const shape = kernel::make_chunks(g.views, g.channels, g.rows, B::lanes, kernel::parallel_back<B>::most_packs);
    temporary<float, Context> inside(ctx, "channel-major sinogram", shape.size());
    load_sinogram(ctx, sinogram, inside, shape, name);

    auto passes = kernel::make_passes(s);  // those of two taps first, so that a block of views has one kind
    std::sort(passes.begin(), passes.end(), [](auto const& a, auto const& b) {
      return std::tuple(a.taps, a.view, a.first_tap) < std::tuple(b.taps, b.view, b.first_tap);
    });
    auto const three = std::find_if(passes.begin(), passes.end(), [](auto const& p) { return p.taps == 3; });
    [[maybe_unused]] auto const guard = ctx.instr.stage("project");
    observed_plan<Context> const pixels(ctx, plan);
    kernel::parallel_back<B> kernel{observe(ctx, inside), cylinders, pixels.rows, pixels.cols, pixels.offsets, observe_table(ctx, passes, "passes"),
                                    three - passes.begin(), static_cast<index_t>(passes.size()), shape, coeff_power == 2, plan.groups};
    kernel.plan_scratch();
    launch(ctx, static_cast<index_t>(plan.groups.size()), kernel);
  }

  template <class Context, class Cylinders>
  static void unit_hessian(Context const& ctx, parallel_scan const& s, kernel::pixel_plan const& plan, Cylinders cylinders) {
    using B = typename Context::backend;
    auto const passes = kernel::make_passes(s);
    [[maybe_unused]] auto const stage = ctx.instr.stage("project");
    observed_plan<Context> const pixels(ctx, plan);
    kernel::parallel_unit_hessian<B> kernel{cylinders, pixels.rows, pixels.cols, pixels.offsets, observe_table(ctx, passes, "passes"),
                                            static_cast<index_t>(passes.size()), s.geometry().channels, s.geometry().slices, plan.groups};
    kernel.plan_scratch();
    launch(ctx, static_cast<index_t>(plan.groups.size()), kernel);
  }
};

}  // namespace mbirk::detail
