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

  using view_taps_list = std::vector<kernel::view_taps>;
  /// Those of two taps first, so that a block of views has one kind.
  static void sort_by_taps(std::span<kernel::view_taps> passes) {
    std::sort(passes.begin(), passes.end(), [](auto const& a, auto const& b) {
      return std::tuple(a.taps, a.view, a.first_tap) < std::tuple(b.taps, b.view, b.first_tap);
    });
  }
  static index_t two_taps(std::span<kernel::view_taps const> passes) {
    return std::count_if(passes.begin(), passes.end(), [](auto const& p) { return p.taps == 2; });
  }
  static view_taps_list by_taps(view_taps_list passes) {
    sort_by_taps(passes);
    return passes;
  }

  /// What the kernels of small subsets need where no footprint is wider than two channels: a pass for every view.
  template <class Context> struct subset_tables {
    view_taps_list passes;                        // in ranges of views, by taps within each
    std::vector<kernel::view_taps_range> ranges;  // a task each
    index_t block = 0;                       // views whose chunks fit a second-level cache
    device_table<kernel::view_taps, Context> device_passes;

    subset_tables(Context const& ctx, view_taps_list in_view_order, kernel::chunked_shape const& shape)
        : passes(std::move(in_view_order)), ranges(sort_ranges(shape.views)), block(fitting_views(shape)), device_passes(ctx, passes, "passes of lists") {}

   private:
    /// Few, because the sums of each go through memory.
    std::vector<kernel::view_taps_range> sort_ranges(index_t views) {
      std::vector<kernel::view_taps_range> made;
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
    view_taps_list forward, back;  // in view order; by taps
    std::vector<std::int32_t> order;
    std::vector<kernel::view_taps_range> ranges;
    index_t two_tap_passes = 0;
    device_table<kernel::view_taps, Context> device_forward, device_back;
    device_table<std::int32_t, Context> device_order;
    std::optional<subset_tables<Context>> subsets;

    task_tables(Context const& ctx, parallel_scan const& s, index_t views_per_task)
        : forward(kernel::make_view_taps(s)),
          back(by_taps(forward)),
          order(forward.size() * kernel::group_pixels),
          device_forward(ctx, forward, "passes"),
          device_back(ctx, back, "passes"),
          device_order(ctx, order, "tile order") {
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
      subsets.emplace(ctx, forward, shape);
    }
    task_tables(task_tables const&) = delete;
    task_tables& operator=(task_tables const&) = delete;
  };
  /// The same for the kernels of a device, which need less.
  template <class Context> struct block_tables {
    view_taps_list back, views;  // by taps; the first pass of every view
    device_table<kernel::view_taps, Context> device_back, device_views;

    block_tables(Context const& ctx, parallel_scan const& s)
        : back(by_taps(kernel::make_view_taps(s))), views(first_passes(s)), device_back(ctx, back, "passes"), device_views(ctx, views, "views") {}
    block_tables(Context const& ctx, parallel_scan const& s, kernel::chunked_shape const&) : block_tables(ctx, s) {}
    block_tables(block_tables const&) = delete;
    block_tables& operator=(block_tables const&) = delete;

   private:
    static view_taps_list first_passes(parallel_scan const& s) {
      auto passes = kernel::make_view_taps(s);
      std::erase_if(passes, [](auto const& p) { return p.first_tap != 0; });
      return passes;
    }
  };
  template <class Context> using tables = std::conditional_t<on_device<Context>, block_tables<Context>, task_tables<Context>>;

  /// In an iterative reconstruction the projection of a small subset is computed twice on the host, for the line search and for the update: cheaper
  /// than a sinogram that goes to memory and back. The bound is where both cost the same (docs/performance.md).
  template <class Context> static constexpr bool always_keeps_projection = on_device<Context>;
  /// And its back projection goes by views, and takes the update of the error along.
  template <class Context> static constexpr bool can_fuse_update = !on_device<Context>;
  template <class Context> static bool keeps_projection(tables<Context> const& t, kernel::chunked_shape const& shape, index_t pixels) {
    return !t.subsets || pixels > 4 * shape.channels;
  }

  /// The layout of sinograms that are both projected from and back projected: chunks that suit the registers of the back projection.
  template <class Context> static kernel::chunked_shape channel_major_shape(parallel_geometry const& g) {
    using B = typename Context::backend;
    constexpr int most = on_device<Context> ? kernel::parallel_block_back<B>::most_packs : kernel::parallel_back<B>::most_packs;
    return kernel::make_chunks(g.views, g.channels, g.rows, B::lanes, most);
  }
  /// Tasks that an epilogue sees.
  template <class Context> static index_t forward_tasks([[maybe_unused]] tables<Context> const& t, kernel::chunked_shape const& shape) {
    if constexpr (on_device<Context>) return shape.views * shape.chunks;
    else return static_cast<index_t>(t.ranges.size()) * shape.chunks;
  }

  /// y = A x over planned pixels; the epilogue gets the views. `channel_major` is a channel-major sinogram, or nothing when the epilogue works on scratch.
  template <class Context, class VoxelColumns, class Epilogue>
  static void project_channel_major(Context const& ctx, parallel_scan const&, tables<Context> const& t, VoxelColumns voxel_columns, device_plan<Context> const& plan,
                             typename Context::backend::template cursor<float> channel_major, kernel::chunked_shape const& shape, Epilogue const& epilogue) {
    using B = typename Context::backend;
    if constexpr (on_device<Context>) {
      auto const& bounds = plan.bounds;
      kernel::parallel_gather<B> const kernel{voxel_columns, channel_major, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, plan.offsets),
                                              observe(ctx, bounds.doubled_row_center), observe(ctx, bounds.row_extent), observe(ctx, bounds.doubled_col_center),
                                              observe(ctx, bounds.col_extent), observe(ctx, t.device_views), shape, plan.groups.all()};
      launch(ctx, kernel.tasks(), kernel);
      run_epilogue(ctx, channel_major, shape, epilogue);
    } else {
      kernel::parallel_forward<B, Epilogue> kernel{
          {voxel_columns, channel_major, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, plan.offsets), observe(ctx, t.device_forward),
           observe(ctx, t.device_order), {t.ranges.data(), static_cast<index_t>(t.ranges.size())}, shape, plan.groups.all()}, epilogue};
      kernel.plan_scratch();
      launch(ctx, forward_tasks<Context>(t, shape), kernel);
    }
  }
  /// x = A' y (or the elementwise square of A) over planned pixels, from a channel-major sinogram.
  template <class Context, class VoxelColumns>
  static void back_project_channel_major(Context const& ctx, parallel_scan const&, tables<Context> const& t, typename Context::backend::template cursor<float const> channel_major,
                          kernel::chunked_shape const& shape, device_plan<Context> const& plan, int coeff_power, VoxelColumns voxel_columns) {
    using B = typename Context::backend;
    if constexpr (on_device<Context>) {
      launch_blocks(ctx, kernel::parallel_block_back<B>{channel_major, voxel_columns, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, plan.offsets),
                                                        observe(ctx, t.device_back), t.device_back.size(), shape, coeff_power == 2, plan.groups.all()});
    } else {
      auto const batches = kernel::batch_groups(plan.groups.all(), 4 * kernel::group_pixels * shape.chunks * shape.width, workers_for(ctx, plan.groups.size()));
      kernel::parallel_back<B> kernel{{channel_major, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, t.device_back), shape, coeff_power == 2,
                                       plan.groups.all(), batches},
                                      voxel_columns, observe(ctx, plan.offsets), t.two_tap_passes, t.device_back.size()};
      kernel.plan_scratch();
      launch(ctx, batches.count, kernel);
    }
  }

  /// The part of the kernels of small subsets that knows the pixels. voxel columns: (pixels, chunks * width), in the order of the plan.
  template <class Context>
  static kernel::parallel_subset_projection<typename Context::backend> subset_of(Context const& ctx, task_tables<Context> const& t, kernel::chunked_shape const& shape,
                                                                  temporary<float, Context> const& voxel_columns, device_plan<Context> const& plan) {
    return {observe(ctx, voxel_columns), observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, t.subsets->device_passes), shape, plan.pixels,
            {}, {}, {}, {}, {}, {}};
  }
  /// Projects a small list; the epilogue gets the channels, a view a task.
  template <class Context, class Epilogue>
  static void project_subset(Context const& ctx, task_tables<Context> const& t, kernel::chunked_shape const& shape, temporary<float, Context> const& voxel_columns,
                           device_plan<Context> const& plan, Epilogue const& epilogue) {
    kernel::parallel_project_subset<typename Context::backend, Epilogue> kernel{subset_of(ctx, t, shape, voxel_columns, plan), epilogue};
    kernel.plan_scratch();
    launch(ctx, shape.views, kernel);
  }
  /// Floats that fused_update_backproject needs for so many pixels; 0 where it would not save traffic.
  template <class Context> static index_t partial_sum_floats(task_tables<Context> const& t, kernel::chunked_shape const& shape, index_t pixels) {
    if (keeps_projection<Context>(t, shape, pixels)) return 0;
    index_t const floats = std::ssize(t.subsets->ranges) * pixels * shape.chunks * shape.width;
    return 2 * floats <= shape.size() ? floats : 0;
  }
  /// x = A' (w e) over a list, where the error first loses the step of the subset before, if there is one: one pass over it.
  template <bool Weighted, class Context, class VoxelColumns>
  static void fused_update_backproject(Context const& ctx, task_tables<Context> const& t, kernel::axpy_epilogue<typename Context::backend, Weighted> const& error,
                            temporary<float, Context> const& step, device_plan<Context> const* before, device_plan<Context> const& plan,
                            temporary<float, Context> const& parts, VoxelColumns voxel_columns) {
    using B = typename Context::backend;
    auto const& shape = error.shape;
    auto const groups = plan.groups.all();
    index_t const tasks = std::ssize(t.subsets->ranges);
    kernel::parallel_fused_update_backproject<B, Weighted> kernel{
        {error.error, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, t.subsets->device_passes), shape, false, groups, {groups.size(), 1}},
        {t.subsets->ranges.data(), tasks}, subset_of(ctx, t, shape, step, before ? *before : plan), error, before != nullptr, observe(ctx, parts), plan.pixels,
        t.subsets->block};
    kernel.plan_scratch();
    launch(ctx, tasks, kernel);
    launch(ctx, groups.size(), kernel::reduce_partials<B>{observe(ctx, parts), voxel_columns, observe(ctx, plan.offsets), tasks, plan.pixels,
                                                    {shape.rows, shape.chunks * shape.width}, groups});
  }

  /// The layout of a projection that nothing is projected back from.
  template <class Context> static kernel::chunked_shape forward_shape(parallel_geometry const& g) {
    using B = typename Context::backend;
    constexpr int most = on_device<Context> ? kernel::parallel_gather<B>::most_packs : kernel::parallel_views<B>::most_packs;
    return kernel::make_chunks(g.views, g.channels, g.rows, B::lanes, most);
  }

  template <class Context, class VoxelColumns>
  static void unweighted_hessian(Context const& ctx, parallel_scan const& s, device_plan<Context> const& plan, VoxelColumns voxel_columns) {
    auto const& g = s.geometry();
    auto const passes = kernel::make_view_taps(s);
    device_table const device_passes(ctx, passes, "passes");
    kernel::parallel_unweighted_hessian<typename Context::backend> kernel{voxel_columns, observe(ctx, plan.rows), observe(ctx, plan.cols),
                                                                    observe(ctx, plan.offsets), observe(ctx, device_passes), device_passes.size(), g.channels,
                                                                    g.slices, plan.groups.all()};
    kernel.plan_scratch();
    launch(ctx, plan.groups.size(), kernel);
  }
};

}  // namespace mbirk::detail

#if defined(MBIRK_COMPILED)
#include "mbirk/instances/projectors.hpp"
#endif
