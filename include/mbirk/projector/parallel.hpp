// The projector operations in parallel beam: which kernels run, on which layout.
#pragma once

#include <algorithm>
#include <tuple>

#include "mbirk/kernel/device/parallel_block_back.hpp"
#include "mbirk/kernel/device/parallel_gather.hpp"
#include "mbirk/kernel/host/parallel_back.hpp"
#include "mbirk/kernel/host/parallel_forward.hpp"
#include "mbirk/kernel/host/parallel_hessian.hpp"
#include "mbirk/projector/operations.hpp"

namespace mbirk::detail {

template <> struct projector<parallel_geometry> {
  static constexpr char const *forward_name = "parallel_forward_project", *back_name = "parallel_back_project",
                              *sparse_forward_name = "parallel_sparse_forward_project", *sparse_back_name = "parallel_sparse_back_project",
                              *hessian_name = "parallel_hessian_diagonal";

  using pass_list = std::vector<kernel::parallel_pass>;
  /// Those of two taps first, so that a block of views has one kind.
  static pass_list by_taps(pass_list passes) {
    std::sort(passes.begin(), passes.end(), [](auto const& a, auto const& b) {
      return std::tuple(a.taps, a.view, a.first_tap) < std::tuple(b.taps, b.view, b.first_tap);
    });
    return passes;
  }

  /// What depends on the scan only, made once for many projections: for kernels of tasks.
  template <class Context> struct task_tables {
    pass_list forward, back;  // in view order; by taps
    std::vector<std::int32_t> order;
    std::vector<kernel::pass_range> ranges;
    index_t views_per_task = 0, two_tap_passes = 0;
    table<kernel::parallel_pass, Context> placed_forward, placed_back;
    table<std::int32_t, Context> placed_order;

    task_tables(Context const& ctx, parallel_scan const& s, index_t views_of_forward_task)
        : forward(kernel::make_passes(s)),
          back(by_taps(forward)),
          order(forward.size() * kernel::group_pixels),
          views_per_task(views_of_forward_task),
          placed_forward(ctx, forward, "passes"),
          placed_back(ctx, back, "passes"),
          placed_order(ctx, order, "tile order") {
      for (std::size_t p = 0; p < forward.size(); ++p) {
        kernel::sort_tile(forward[p], order.data() + p * kernel::group_pixels);
        if (forward[p].first_tap == 0 && forward[p].view % views_per_task == 0) ranges.push_back({static_cast<index_t>(p), 0});
        ++ranges.back().count;
      }
      two_tap_passes = std::find_if(back.begin(), back.end(), [](auto const& p) { return p.taps == 3; }) - back.begin();
    }
    /// Twice the views of other tasks: every task reads the whole volume, a quarter of the time at 128 with half as many.
    task_tables(Context const& ctx, parallel_scan const& s) : task_tables(ctx, s, std::clamp<index_t>(s.geometry().views / 4, 1, 32)) {}
    /// For sinks that work on scratch: a task's views fit the second-level cache.
    task_tables(Context const& ctx, parallel_scan const& s, kernel::chunked_shape const& shape) : task_tables(ctx, s, fitting_views<Context>(s, shape)) {}
    task_tables(task_tables const&) = delete;
    task_tables& operator=(task_tables const&) = delete;
  };
  /// The same for the kernels of a device, which need less.
  template <class Context> struct block_tables {
    pass_list back, views;  // by taps; the first pass of every view
    table<kernel::parallel_pass, Context> placed_back, placed_views;

    block_tables(Context const& ctx, parallel_scan const& s)
        : back(by_taps(kernel::make_passes(s))), views(first_passes(s)), placed_back(ctx, back, "passes"), placed_views(ctx, views, "views") {}
    block_tables(Context const& ctx, parallel_scan const& s, kernel::chunked_shape const&) : block_tables(ctx, s) {}
    block_tables(block_tables const&) = delete;
    block_tables& operator=(block_tables const&) = delete;

   private:
    static pass_list first_passes(parallel_scan const& s) {
      auto passes = kernel::make_passes(s);
      std::erase_if(passes, [](auto const& p) { return p.first_tap != 0; });
      return passes;
    }
  };
  template <class Context> using tables = std::conditional_t<on_device<Context>, block_tables<Context>, task_tables<Context>>;

  /// In an iterative reconstruction the projection of a small subset is computed twice on the host, for the line search and for the update: cheaper
  /// than a sinogram that goes to memory and back. The bound is where both cost the same (docs/performance.md).
  template <class Context> static constexpr bool always_keeps_projection = on_device<Context>;
  template <class Context> static constexpr bool goes_by_views = false;
  static bool keeps_projection(parallel_geometry const& g, index_t pixels) { return pixels > 3 * g.channels; }
  template <class Context> static index_t fitting_views(parallel_scan const& s, kernel::chunked_shape const& shape) {
    constexpr index_t cache = index_t{1} << 20;  // bytes; half of what current server cores have
    index_t const fitting = std::max<index_t>(1, cache / (4 * shape.view_size()));
    return std::min(views_of_a_task<Context>(s.geometry().views), fitting);
  }

  /// The layout of sinograms that are both projected from and back projected: chunks that suit the registers of the back projection.
  template <class Context> static kernel::chunked_shape inside_shape(parallel_geometry const& g) {
    using B = typename Context::backend;
    constexpr int most = on_device<Context> ? kernel::parallel_block_back<B>::most_packs : kernel::parallel_back<B>::most_packs;
    return kernel::make_chunks(g.views, g.channels, g.rows, B::lanes, most);
  }
  /// Tasks that a sink sees.
  template <class Context> static index_t forward_tasks([[maybe_unused]] tables<Context> const& t, kernel::chunked_shape const& shape) {
    if constexpr (on_device<Context>) return shape.views * shape.chunks;
    else return static_cast<index_t>(t.ranges.size()) * shape.chunks;
  }

  /// y = A x over planned pixels; the sink gets the views. `inside` is a channel-major sinogram, or nothing when the sink works on scratch.
  template <class Context, class Cylinders, class Sink>
  static void forward_inside(Context const& ctx, parallel_scan const&, tables<Context> const& t, Cylinders cylinders, placed_plan<Context> const& plan,
                             typename Context::backend::template cursor<float> inside, kernel::chunked_shape const& shape, Sink const& sink) {
    using B = typename Context::backend;
    if constexpr (on_device<Context>) {
      auto const& boxes = plan.boxes;
      kernel::parallel_gather<B> const kernel{cylinders, inside, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, plan.offsets),
                                              observe(ctx, boxes.row_middle), observe(ctx, boxes.row_reach), observe(ctx, boxes.col_middle),
                                              observe(ctx, boxes.col_reach), observe(ctx, t.placed_views), shape, plan.groups.all()};
      launch(ctx, kernel.tasks(), kernel);
      show_views(ctx, inside, shape, sink);
    } else {
      kernel::parallel_forward<B, Sink> kernel{
          {cylinders, inside, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, plan.offsets), observe(ctx, t.placed_forward),
           observe(ctx, t.placed_order), {t.ranges.data(), static_cast<index_t>(t.ranges.size())}, shape, plan.groups.all()}, t.views_per_task, sink};
      kernel.plan_scratch();
      launch(ctx, forward_tasks<Context>(t, shape), kernel);
    }
  }
  /// x = A' y (or the elementwise square of A) over planned pixels, from a channel-major sinogram.
  template <class Context, class Cylinders>
  static void back_inside(Context const& ctx, parallel_scan const&, tables<Context> const& t, typename Context::backend::template cursor<float const> inside,
                          kernel::chunked_shape const& shape, placed_plan<Context> const& plan, int coeff_power, Cylinders cylinders) {
    using B = typename Context::backend;
    if constexpr (on_device<Context>) {
      launch_blocks(ctx, kernel::parallel_block_back<B>{inside, cylinders, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, plan.offsets),
                                                        observe(ctx, t.placed_back), t.placed_back.size(), shape, coeff_power == 2, plan.groups.all()});
    } else {
      kernel::parallel_back<B> kernel{inside, cylinders, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, plan.offsets),
                                      observe(ctx, t.placed_back), t.two_tap_passes, t.placed_back.size(), shape, coeff_power == 2, plan.groups.all(),
                                      kernel::batch_groups(plan.groups.all(), 4 * kernel::group_pixels * shape.chunks * shape.width, back_workers(ctx, plan))};
      kernel.plan_scratch();
      launch(ctx, kernel.batches.count, kernel);
    }
  }

  /// The layout of a projection that nothing is projected back from.
  template <class Context> static kernel::chunked_shape forward_shape(parallel_geometry const& g) {
    using B = typename Context::backend;
    constexpr int most = on_device<Context> ? kernel::parallel_gather<B>::most_packs : kernel::parallel_views<B>::most_packs;
    return kernel::make_chunks(g.views, g.channels, g.rows, B::lanes, most);
  }

  template <class Context, class Cylinders>
  static void unit_hessian(Context const& ctx, parallel_scan const& s, placed_plan<Context> const& plan, Cylinders cylinders) {
    auto const& g = s.geometry();
    auto const passes = kernel::make_passes(s);
    table const placed(ctx, passes, "passes");
    kernel::parallel_unit_hessian<typename Context::backend> kernel{cylinders, observe(ctx, plan.rows), observe(ctx, plan.cols),
                                                                    observe(ctx, plan.offsets), observe(ctx, placed), placed.size(), g.channels,
                                                                    g.slices, plan.groups.all()};
    kernel.plan_scratch();
    launch(ctx, plan.groups.size(), kernel);
  }
};

}  // namespace mbirk::detail
