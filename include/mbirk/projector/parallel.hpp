// The projector operations in parallel beam: which kernels run, on which layout.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "mbirk/kernel/device/parallel_block_back.hpp"
#include "mbirk/kernel/device/parallel_gather.hpp"
#include "mbirk/kernel/host/parallel_back.hpp"
#include "mbirk/kernel/host/parallel_forward.hpp"
#include "mbirk/kernel/host/parallel_subset.hpp"
#include "mbirk/kernel/shared/parallel_hessian.hpp"
#include "mbirk/kernel/shared/voxel_columns.hpp"
#include "mbirk/projector/operations.hpp"

namespace mbirk::detail {

template <> struct projector<parallel_geometry> {
  static constexpr char const *forward_name = "parallel_forward_project", *back_name = "parallel_back_project",
                              *sparse_forward_name = "parallel_sparse_forward_project", *sparse_back_name = "parallel_sparse_back_project",
                              *hessian_name = "parallel_hessian_diagonal";

  using pass_list = std::vector<kernel::parallel_pass>;
  /// Those of two taps first, so that a block of views has one kind.
  static void sort_by_taps(std::span<kernel::parallel_pass> passes) {
    std::sort(passes.begin(), passes.end(), [](auto const& a, auto const& b) {
      return std::tuple(a.taps, a.view, a.first_tap) < std::tuple(b.taps, b.view, b.first_tap);
    });
  }
  static index_t two_taps(std::span<kernel::parallel_pass const> passes) {
    return std::count_if(passes.begin(), passes.end(), [](auto const& p) { return p.taps == 2; });
  }
  static pass_list by_taps(pass_list passes) {
    sort_by_taps(passes);
    return passes;
  }

  /// What the kernels of small subsets need where no footprint is wider than two channels: a pass for every view.
  template <class Context> struct list_tables {
    pass_list passes;                        // in ranges of views, by taps within each
    std::vector<kernel::pass_range> ranges;  // a task each
    index_t block = 0;                       // views whose chunks fit a second-level cache
    table<kernel::parallel_pass, Context> placed;

    list_tables(Context const& ctx, pass_list in_view_order, kernel::chunked_shape const& shape)
        : passes(std::move(in_view_order)), ranges(sort_ranges(shape.views)), block(fitting_views(shape)), placed(ctx, passes, "passes of lists") {}

   private:
    /// Few, because the sums of each go through memory.
    std::vector<kernel::pass_range> sort_ranges(index_t views) {
      std::vector<kernel::pass_range> made;
      index_t const each = std::max<index_t>(1, views / 16);
      for (index_t v = 0; v < views; v += each) {
        index_t const count = std::min(each, views - v);
        auto const range = std::span(passes).subspan(static_cast<std::size_t>(v), static_cast<std::size_t>(count));
        sort_by_taps(range);
        made.push_back({v, count, two_taps(range)});
      }
      return made;
    }
    static index_t fitting_views(kernel::chunked_shape const& shape) {
      constexpr index_t cache = 5 << 18;  // bytes; more than half of what current server cores have
      return std::clamp<index_t>(cache / (4 * shape.view_size()), 1, kernel::parallel_sums<typename Context::backend>::views_at_once);
    }
  };
  /// What depends on the scan only, made once for many projections: for kernels of tasks.
  template <class Context> struct task_tables {
    pass_list forward, back;  // in view order; by taps
    std::vector<std::int32_t> order;
    std::vector<kernel::pass_range> ranges;
    index_t two_tap_passes = 0;
    table<kernel::parallel_pass, Context> placed_forward, placed_back;
    table<std::int32_t, Context> placed_order;
    std::optional<list_tables<Context>> lists;

    task_tables(Context const& ctx, parallel_scan const& s, index_t views_per_task)
        : forward(kernel::make_passes(s)),
          back(by_taps(forward)),
          order(forward.size() * kernel::group_pixels),
          placed_forward(ctx, forward, "passes"),
          placed_back(ctx, back, "passes"),
          placed_order(ctx, order, "tile order") {
      for (std::size_t p = 0; p < forward.size(); ++p) {
        kernel::sort_tile(forward[p], order.data() + p * kernel::group_pixels);
        if (forward[p].first_tap == 0 && forward[p].view % views_per_task == 0) ranges.push_back({static_cast<index_t>(p), 0});
        ++ranges.back().count;
      }
      two_tap_passes = two_taps(back);
    }
    task_tables(Context const& ctx, parallel_scan const& s)
        : task_tables(ctx, s, fitting_views(ctx, s.geometry().views, forward_shape<Context>(s.geometry()).chunks)) {}
    /// For an iterative reconstruction, with what small subsets need.
    task_tables(Context const& ctx, parallel_scan const& s, kernel::chunked_shape const& shape)
        : task_tables(ctx, s, views_of_a_task<Context>(s.geometry().views)) {
      if (std::any_of(forward.begin(), forward.end(), [](auto const& p) { return p.window; })) return;
      lists.emplace(ctx, forward, shape);
    }
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
  /// And its back projection goes by views, and takes the update of the error along.
  template <class Context> static constexpr bool goes_by_views = !on_device<Context>;
  template <class Context> static bool keeps_projection(tables<Context> const& t, kernel::chunked_shape const& shape, index_t pixels) {
    return !t.lists || pixels > 4 * shape.channels;
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
           observe(ctx, t.placed_order), {t.ranges.data(), static_cast<index_t>(t.ranges.size())}, shape, plan.groups.all()}, sink};
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
      auto const batches = kernel::batch_groups(plan.groups.all(), 4 * kernel::group_pixels * shape.chunks * shape.width, workers_for(ctx, plan.groups.size()));
      kernel::parallel_back<B> kernel{{inside, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, t.placed_back), shape, coeff_power == 2,
                                       plan.groups.all(), batches},
                                      cylinders, observe(ctx, plan.offsets), t.two_tap_passes, t.placed_back.size()};
      kernel.plan_scratch();
      launch(ctx, batches.count, kernel);
    }
  }

  /// The part of the kernels of small subsets that knows the pixels. cylinders: (pixels, chunks * width), in the order of the plan.
  template <class Context>
  static kernel::parallel_list<typename Context::backend> list_of(Context const& ctx, task_tables<Context> const& t, kernel::chunked_shape const& shape,
                                                                  temporary<float, Context> const& cylinders, placed_plan<Context> const& plan) {
    return {observe(ctx, cylinders), observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, t.lists->placed), shape, plan.pixels,
            {}, {}, {}, {}, {}, {}};
  }
  /// Projects a small list; the sink gets the channels, a view a task.
  template <class Context, class Sink>
  static void forward_list(Context const& ctx, task_tables<Context> const& t, kernel::chunked_shape const& shape, temporary<float, Context> const& cylinders,
                           placed_plan<Context> const& plan, Sink const& sink) {
    kernel::parallel_forward_list<typename Context::backend, Sink> kernel{list_of(ctx, t, shape, cylinders, plan), sink};
    kernel.plan_scratch();
    launch(ctx, shape.views, kernel);
  }
  /// Floats that back_by_views needs for so many pixels; 0 where it would not save traffic.
  template <class Context> static index_t parts_by_views(task_tables<Context> const& t, kernel::chunked_shape const& shape, index_t pixels) {
    if (keeps_projection<Context>(t, shape, pixels)) return 0;
    index_t const floats = std::ssize(t.lists->ranges) * pixels * shape.chunks * shape.width;
    return 2 * floats <= shape.size() ? floats : 0;
  }
  /// x = A' (w e) over a list, where the error first loses the step of the subset before, if there is one: one pass over it.
  template <bool Weighted, class Context, class Cylinders>
  static void back_by_views(Context const& ctx, task_tables<Context> const& t, kernel::subtract_views<typename Context::backend, Weighted> const& error,
                            temporary<float, Context> const& step, placed_plan<Context> const* before, placed_plan<Context> const& plan,
                            temporary<float, Context> const& parts, Cylinders cylinders) {
    using B = typename Context::backend;
    auto const& shape = error.shape;
    auto const groups = plan.groups.all();
    index_t const tasks = std::ssize(t.lists->ranges);
    kernel::parallel_back_by_views<B, Weighted> kernel{
        {error.error, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, t.lists->placed), shape, false, groups, {groups.size(), 1}},
        {t.lists->ranges.data(), tasks}, list_of(ctx, t, shape, step, before ? *before : plan), error, before != nullptr, observe(ctx, parts), plan.pixels,
        t.lists->block};
    kernel.plan_scratch();
    launch(ctx, tasks, kernel);
    launch(ctx, groups.size(), kernel::add_parts<B>{observe(ctx, parts), cylinders, observe(ctx, plan.offsets), tasks, plan.pixels,
                                                    {shape.rows, shape.chunks * shape.width}, groups});
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

#if defined(MBIRK_COMPILED)
#include "mbirk/instances/projectors.hpp"
#endif
