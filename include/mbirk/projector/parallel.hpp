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

  /// What depends on the scan only, made once for many projections.
  struct tables {
    std::vector<kernel::parallel_pass> forward, back;  // in view order; those of two taps first, so that a block of views has one kind
    std::vector<std::int32_t> order;
    std::vector<kernel::pass_range> ranges;
    index_t views_per_task = 0, two_tap_passes = 0;

    tables(parallel_scan const& s, index_t views_of_forward_task)
        : forward(kernel::make_passes(s)), back(forward), views_per_task(views_of_forward_task) {
      order.resize(forward.size() * kernel::group_pixels);
      for (std::size_t p = 0; p < forward.size(); ++p) {
        kernel::sort_tile(forward[p], order.data() + p * kernel::group_pixels);
        if (forward[p].first_tap == 0 && forward[p].view % views_per_task == 0) ranges.push_back({static_cast<index_t>(p), 0});
        ++ranges.back().count;
      }
      std::sort(back.begin(), back.end(), [](auto const& a, auto const& b) {
        return std::tuple(a.taps, a.view, a.first_tap) < std::tuple(b.taps, b.view, b.first_tap);
      });
      two_tap_passes = std::find_if(back.begin(), back.end(), [](auto const& p) { return p.taps == 3; }) - back.begin();
    }
    explicit tables(parallel_scan const& s) : tables(s, views_of_a_task(s.geometry().views)) {}
  };
  /// In an iterative reconstruction a subset is projected twice, for the line search and for the update: cheaper than keeping a sinogram.
  static constexpr bool keeps_projection = false;
  template <class Context> static tables make_full_tables(parallel_scan const& s) { return tables(s); }
  /// Tables for sinks that work on scratch: a task's views fit the second-level cache.
  template <class Context> static tables make_tables(parallel_scan const& s, kernel::chunked_shape const& shape) {
    constexpr index_t cache = index_t{1} << 20;  // bytes; half of what current server cores have
    index_t const fitting = std::max<index_t>(1, cache / (4 * shape.view_size()));
    return {s, std::min(views_of_a_task(s.geometry().views), fitting)};
  }

  /// The layout of sinograms that are both projected from and back projected: chunks that suit the registers of the back projection.
  template <class Context> static kernel::chunked_shape inside_shape(parallel_geometry const& g) {
    using B = typename Context::backend;
    return kernel::make_chunks(g.views, g.channels, g.rows, B::lanes, kernel::parallel_back<B>::most_packs);
  }
  static index_t forward_tasks(tables const& t, kernel::chunked_shape const& shape) { return static_cast<index_t>(t.ranges.size()) * shape.chunks; }

  /// y = A x over planned pixels; the sink gets the views. `inside` is a channel-major sinogram, or nothing when the sink works on scratch.
  template <class Context, class Cylinders, class Sink>
  static void forward_inside(Context const& ctx, parallel_scan const&, tables const& t, Cylinders cylinders, kernel::pixel_plan const& plan,
                             typename Context::backend::template cursor<float> inside, kernel::chunked_shape const& shape, Sink const& sink) {
    using B = typename Context::backend;
    observed_plan<Context> const pixels(ctx, plan);
    kernel::parallel_forward<B, Sink> kernel{
        {cylinders, inside, pixels.rows, pixels.cols, pixels.offsets, observe_table(ctx, t.forward, "passes"),
         observe_table(ctx, t.order, "tile order"), t.ranges.data(), shape, plan.groups}, t.views_per_task, sink};
    kernel.plan_scratch();
    launch(ctx, forward_tasks(t, shape), kernel);
  }
  /// x = A' y (or the elementwise square of A) over planned pixels, from a channel-major sinogram.
  template <class Context, class Cylinders>
  static void back_inside(Context const& ctx, parallel_scan const&, tables const& t, typename Context::backend::template cursor<float const> inside,
                          kernel::chunked_shape const& shape, kernel::pixel_plan const& plan, int coeff_power, Cylinders cylinders) {
    using B = typename Context::backend;
    observed_plan<Context> const pixels(ctx, plan);
    kernel::parallel_back<B> kernel{inside, cylinders, pixels.rows, pixels.cols, pixels.offsets, observe_table(ctx, t.back, "passes"),
                                    t.two_tap_passes, static_cast<index_t>(t.back.size()), shape, coeff_power == 2, plan.groups};
    kernel.plan_scratch();
    launch(ctx, static_cast<index_t>(plan.groups.size()), kernel);
  }

  /// y = A x over planned pixels, into the caller's sinogram.
  template <class Context, class Cylinders>
  static void forward(Context const& ctx, parallel_scan const& s, Cylinders cylinders, kernel::pixel_plan const& plan, view<float, 3> sinogram) {
    using B = typename Context::backend;
    auto const& g = s.geometry();
    auto const shape = kernel::make_chunks(g.views, g.channels, g.rows, B::lanes, kernel::parallel_views<B>::most_packs);
    temporary<float, Context> inside(ctx, "channel-major sinogram", shape.size());
    {
      [[maybe_unused]] auto const guard = ctx.instr.stage("project");
      forward_inside(ctx, s, tables(s), cylinders, plan, observe(ctx, inside), shape, kernel::keep_views<B>{});
    }
    store_sinogram(ctx, inside, sinogram, shape);
  }

  /// x = A' y (or the elementwise square of A) over planned pixels, into the caller's cylinders.
  template <class Context, class Cylinders>
  static void back(Context const& ctx, parallel_scan const& s, view<float const, 3> sinogram, char const* name, kernel::pixel_plan const& plan,
                   int coeff_power, Cylinders cylinders) {
    auto const shape = inside_shape<Context>(s.geometry());
    temporary<float, Context> inside(ctx, "channel-major sinogram", shape.size());
    load_sinogram(ctx, sinogram, inside, shape, name);
    [[maybe_unused]] auto const guard = ctx.instr.stage("project");
    back_inside(ctx, s, tables(s), observe(ctx, inside), shape, plan, coeff_power, cylinders);
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
