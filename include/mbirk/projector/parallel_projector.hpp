// Projection with the kernels of parallel beam, for every geometry whose rays stay in a slice: selects the kernels and
// the layouts of their arrays.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <vector>

#include "mbirk/kernel/device/parallel_block_back.hpp"
#include "mbirk/kernel/device/parallel_gather.hpp"
#include "mbirk/kernel/device/parallel_list_back.hpp"
#include "mbirk/kernel/device/parallel_list_gather.hpp"
#include "mbirk/kernel/device/parallel_tile_back.hpp"
#include "mbirk/kernel/device/parallel_view_back.hpp"
#include "mbirk/kernel/host/parallel_back.hpp"
#include "mbirk/kernel/host/parallel_forward.hpp"
#include "mbirk/kernel/host/parallel_subset.hpp"
#include "mbirk/kernel/shared/parallel_hessian.hpp"
#include "mbirk/kernel/shared/voxel_columns.hpp"
#include "mbirk/projector/operations.hpp"
#include "mbirk/projector/sorted_pixels.hpp"

namespace mbirk::detail {

/// Kernels of parallel beam, also for geometries that derive from parallel_geometry and differ in where a view's
/// detector lies (geometry_of_view).
template <class Geometry> struct parallel_projector {
  using view_taps_list = std::vector<kernel::view_taps>;
  /// Sorts by tap count, two-tap passes first, so that a block of views has one kind.
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

  /// Tables of the kernels for small subsets, usable if no footprint is wider than two channels: one pass per view.
  template <class Context> struct subset_tables {
    view_taps_list passes;                        // grouped into ranges of views; sorted by taps within each
    std::vector<kernel::view_taps_range> ranges;  // one per task
    index_t block = 0;                            // number of views whose chunks fit the L2 cache
    device_table<kernel::view_taps, Context> device_passes;

    subset_tables(Context const& ctx, view_taps_list in_view_order, kernel::chunked_shape const& shape)
        : passes(std::move(in_view_order)),
          ranges(sort_ranges(shape.views)),
          block(fitting_views(shape)),
          device_passes(ctx, passes, "passes of lists") {}

   private:
    /// Only a few ranges, because the partial sums of each go through memory.
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
      constexpr index_t cache = 5 << 18;  // bytes; more than half of the L2 cache of current server cores
      return std::clamp<index_t>(cache / (4 * shape.view_size()), 1,
                                 kernel::parallel_sums<typename Context::backend>::views_at_once);
    }
  };
  /// Tables of the task kernels that depend only on the scan, computed once for many projections.
  template <class Context> struct task_tables {
    view_taps_list forward, back;  // sorted by view; sorted by taps
    std::vector<std::int32_t> order;
    std::vector<kernel::view_taps_range> ranges;
    index_t two_tap_passes = 0;
    device_table<kernel::view_taps, Context> device_forward, device_back;
    device_table<std::int32_t, Context> device_order;
    std::optional<subset_tables<Context>> subsets;

    task_tables(Context const& ctx, scan<Geometry> const& s, index_t views_per_task)
        : forward(kernel::make_view_taps(s)),
          back(by_taps(forward)),
          order(forward.size() * kernel::group_pixels),
          device_forward(ctx, forward, "passes"),
          device_back(ctx, back, "passes"),
          device_order(ctx, order, "tile order") {
      for (std::size_t p = 0; p < forward.size(); ++p) {
        kernel::sort_tile(forward[p], order.data() + p * kernel::group_pixels);
        if (forward[p].first_tap == 0 && forward[p].view % views_per_task == 0)
          ranges.push_back({static_cast<index_t>(p), 0});
        ++ranges.back().count;
      }
      two_tap_passes = two_taps(back);
    }
    task_tables(Context const& ctx, scan<Geometry> const& s)
        : task_tables(ctx, s, fitting_views(ctx, s.geometry().views, forward_shape<Context>(s.geometry()).chunks)) {}
    /// Tables for an iterative reconstruction, including those of small subsets.
    task_tables(Context const& ctx, scan<Geometry> const& s, kernel::chunked_shape const& shape)
        : task_tables(ctx, s, views_of_a_task<Context>(s.geometry().views)) {
      if (std::any_of(forward.begin(), forward.end(), [](auto const& p) { return p.window; })) return;
      subsets.emplace(ctx, forward, shape);
    }
    task_tables(task_tables const&) = delete;
    task_tables& operator=(task_tables const&) = delete;
  };
  /// Tables of the device kernels, which need less.
  template <class Context> struct block_tables {
    view_taps_list back, views;  // for back projection; the first pass of every view
    bool narrow;                 // no footprint is wider than two channels
    bool in_tiles;               // whether parallel_tile_back can project them
    kernel::octant_ends ends;
    device_table<kernel::view_taps, Context> device_back, device_views;

    block_tables(Context const& ctx, scan<Geometry> const& s)
        : back(kernel::sorted_by_octant(kernel::make_view_taps(s))),
          views(first_passes(s)),
          narrow(std::ranges::none_of(back, [](auto const& p) { return p.window; })),
          in_tiles(kernel::fit_in_tiles(back, s.geometry().channels)),
          ends(back),
          device_back(ctx, back, "passes"),
          device_views(ctx, views, "views") {}
    block_tables(Context const& ctx, scan<Geometry> const& s, kernel::chunked_shape const&) : block_tables(ctx, s) {}
    block_tables(block_tables const&) = delete;
    block_tables& operator=(block_tables const&) = delete;

   private:
    static view_taps_list first_passes(scan<Geometry> const& s) {
      auto passes = kernel::make_view_taps(s);
      std::erase_if(passes, [](auto const& p) { return p.first_tap != 0; });
      return passes;
    }
  };
  template <class Context>
  using tables = std::conditional_t<on_device<Context>, block_tables<Context>, task_tables<Context>>;

  /// In an iterative reconstruction the projection of a small subset is computed twice, for the line search and for the
  /// update, which costs less than writing a sinogram to memory and reading it back. The bound of the host is the size
  /// at which both cost the same (docs/performance.md). A device projects the lists twice whose pixels it sorts; an
  /// empty one is not marked as listed in its plan.
  template <class Context>
  static bool keeps_projection([[maybe_unused]] tables<Context> const& t,
                               [[maybe_unused]] kernel::chunked_shape const& shape, [[maybe_unused]] index_t pixels) {
    if constexpr (on_device<Context>) return pixels == 0 || !sorts_pixels(shape, pixels);
    else return !t.subsets || pixels > 4 * shape.channels;
  }

  /// Layout of sinograms that are both projected to and back projected from: chunks that suit the registers of the back
  /// projection.
  template <class Context> static kernel::chunked_shape channel_major_shape(Geometry const& g) {
    using B = typename Context::backend;
    constexpr int most =
        on_device<Context> ? kernel::parallel_block_back<B>::most_packs : kernel::parallel_back<B>::most_packs;
    return kernel::make_chunks(g.views, g.channels, g.rows, B::lanes, most);
  }
  /// Number of tasks that an epilogue sees.
  template <class Context>
  static index_t forward_tasks([[maybe_unused]] tables<Context> const& t, kernel::chunked_shape const& shape) {
    if constexpr (on_device<Context>) return shape.views * shape.chunks;
    else return static_cast<index_t>(t.ranges.size()) * shape.chunks;
  }

  /// y = A x over planned pixels; the views are passed to the epilogue. `channel_major` is a channel-major sinogram, or
  /// empty if the epilogue works on scratch.
  template <class Context, class VoxelColumns, class Epilogue>
  static void project_channel_major(Context const& ctx, scan<Geometry> const&, tables<Context> const& t,
                                    VoxelColumns voxel_columns, device_plan<Context> const& plan,
                                    typename Context::backend::template cursor<float> channel_major,
                                    kernel::chunked_shape const& shape, Epilogue const& epilogue) {
    using B = typename Context::backend;
    if constexpr (on_device<Context>) {
      if constexpr (std::is_same_v<Epilogue, kernel::store_epilogue<B>>)
        if (sorts_pixels(shape, plan))
          return project_list(ctx, t, voxel_columns, plan, sorted_list<Context>(ctx, t, shape, plan), channel_major,
                              shape, epilogue);
      auto const sums = gather_sums<2>(ctx, t, voxel_columns, plan, channel_major, shape);
      launch_blocks(ctx, kernel::parallel_gather<B>{sums, plan.bounds.boxes(ctx), plan.groups.all()});
      run_epilogue(ctx, channel_major, shape, epilogue);
    } else {
      kernel::parallel_forward<B, Epilogue> kernel{{voxel_columns, channel_major, observe(ctx, plan.rows),
                                                    observe(ctx, plan.cols), observe(ctx, plan.offsets),
                                                    observe(ctx, t.device_forward), observe(ctx, t.device_order),
                                                    {t.ranges.data(), static_cast<index_t>(t.ranges.size())}, shape,
                                                    plan.groups.all()},
                                                   epilogue};
      kernel.plan_scratch();
      launch(ctx, forward_tasks<Context>(t, shape), kernel);
    }
  }
  /// Makes the part that the forward projections of a grid and of a list share.
  template <int Views, class Context, class VoxelColumns,
            class Epilogue = kernel::gather_store<typename Context::backend>>
  static kernel::parallel_gather_sums<typename Context::backend, Views, Epilogue> gather_sums(
      Context const& ctx, block_tables<Context> const& t, VoxelColumns voxel_columns, device_plan<Context> const& plan,
      typename Context::backend::template cursor<float> channel_major, kernel::chunked_shape const& shape,
      Epilogue const& epilogue = {}) {
    bool const in_fours = shape.rows % 4 == 0 && plan.offsets_in_fours && starts_at_four(voxel_columns);
    return {voxel_columns, channel_major, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, plan.offsets),
            observe(ctx, t.device_views), shape, in_fours, epilogue};
  }
  /// Order of listed pixels by channel, in which a device projects them; nothing on the host.
  template <class Context> struct sorted_list {
    sorted_list(Context const&, task_tables<Context> const&, kernel::chunked_shape const&,
               device_plan<Context> const&) {}
  };
  template <class Context> requires on_device<Context> struct sorted_list<Context> {
    sorted_pixels<Context> order;

    sorted_list(Context const& ctx, block_tables<Context> const& t, kernel::chunked_shape const& shape,
               device_plan<Context> const& plan)
        : order(ctx, shape, plan.pixels, widest(t)) {
      sort_pixels(ctx, shape.views, kernel::parallel_channel_order<typename Context::backend>{
                                        order.sorter(ctx, plan), observe(ctx, t.device_views)});
    }

   private:
    static double widest(block_tables<Context> const& t) {
      double width = 0;
      for (auto const& view : t.views) width = std::max(width, view.width);
      return width;
    }
  };
  template <class Context, class VoxelColumns, class Epilogue>
  static void project_list(Context const& ctx, block_tables<Context> const& t, VoxelColumns voxel_columns,
                           device_plan<Context> const& plan, sorted_list<Context> const& list,
                           typename Context::backend::template cursor<float> channel_major,
                           kernel::chunked_shape const& shape, Epilogue const& epilogue) {
    using B = typename Context::backend;
    run_gather(ctx, shape, ceil_div(shape.channels, index_t{kernel::gather_channels}), epilogue,
               [&]<class E>(E const& of_warp) {
      auto sums = gather_sums<1>(ctx, t, voxel_columns, plan, channel_major, shape, of_warp);
      if constexpr (sums.takes_turns) sums.turns = kernel::turns_of_a_warp(shape, sums.warps);
      launch_blocks(ctx, kernel::parallel_list_gather<B, E>{sums, list.order.lists(ctx, plan.pixels)});
    });
  }
  /// Whether warps of a device share the views of listed pixels rather than the pixels: up to 32 groups of them make,
  /// with eight chunks of slices, fewer blocks than a device holds at once, two for each of some 132 multiprocessors.
  /// The number of slices does not count, so that a voxel has the same bits in a part of them.
  static bool shares_views(index_t listed) { return listed > 0 && listed <= 32 * kernel::group_pixels; }
  /// x = A' y (or with the elementwise square of A) over planned pixels, from a channel-major sinogram.
  template <class Context, class VoxelColumns>
  static void back_project_channel_major(Context const& ctx, scan<Geometry> const&, tables<Context> const& t,
                                         typename Context::backend::template cursor<float const> channel_major,
                                         kernel::chunked_shape const& shape, device_plan<Context> const& plan,
                                         int coeff_power, VoxelColumns voxel_columns) {
    using B = typename Context::backend;
    if constexpr (on_device<Context>) {
      kernel::parallel_back_arrays<B> const arrays{
          channel_major, voxel_columns, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, plan.offsets),
          observe(ctx, t.device_back), t.device_back.size(), shape, coeff_power == 2};
      if (t.in_tiles && !plan.listed) {
        launch_blocks(ctx, kernel::parallel_tile_back<B>{arrays, t.ends, plan.groups.all()});
      } else if (shares_views(plan.listed ? plan.pixels : 0)) {
        launch_blocks(ctx, kernel::parallel_view_back<B>{arrays, plan.pixels});
      } else if (plan.listed && t.narrow && shape.packs % 2 == 0) {
        if (shape.packs == 2) launch_blocks(ctx, kernel::parallel_list_back<B, 2>{arrays, plan.pixels});
        else launch_blocks(ctx, kernel::parallel_list_back<B, 4>{arrays, plan.pixels});
      } else {
        launch_blocks(ctx, kernel::parallel_block_back<B>{arrays, plan.groups.all()});
      }
    } else {
      auto const batches =
          kernel::batch_groups(plan.groups.all(), 4 * kernel::group_pixels * shape.chunks * shape.width,
                               workers_for(ctx, plan.groups.size()));
      kernel::parallel_back<B> kernel{
          {channel_major, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, t.device_back), shape,
           coeff_power == 2, plan.groups.all(), batches},
          voxel_columns,
          observe(ctx, plan.offsets),
          t.two_tap_passes,
          t.device_back.size()};
      kernel.plan_scratch();
      launch(ctx, batches.count, kernel);
    }
  }

  /// Subset-dependent part of the kernels for small subsets. voxel_columns: (pixels, chunks * width), in the order of
  /// the plan.
  template <class Context>
  static kernel::parallel_subset_projection<typename Context::backend> subset_of(
      Context const& ctx, task_tables<Context> const& t, kernel::chunked_shape const& shape,
      temporary<float, Context> const& voxel_columns, device_plan<Context> const& plan) {
    return {observe(ctx, voxel_columns), observe(ctx, plan.rows), observe(ctx, plan.cols),
            observe(ctx, t.subsets->device_passes), shape, plan.pixels, {}, {}, {}, {}, {}, {}};
  }
  template <class Context>
  static void pack_subset([[maybe_unused]] Context const& ctx, [[maybe_unused]] kernel::chunked_shape const& shape,
                          [[maybe_unused]] temporary<float, Context> const& direction,
                          [[maybe_unused]] device_plan<Context> const& plan,
                          [[maybe_unused]] temporary<float, Context> const& packed) {
    if constexpr (!on_device<Context>)
      launch(ctx, plan.groups.size(),
             kernel::pack_columns<typename Context::backend>{observe(ctx, direction), observe(ctx, packed),
                                                             observe(ctx, plan.offsets), shape, plan.groups.all()});
  }
  template <class Context, class Epilogue>
  static void project_subset([[maybe_unused]] Context const& ctx, [[maybe_unused]] tables<Context> const& t,
                             [[maybe_unused]] kernel::chunked_shape const& shape,
                             [[maybe_unused]] temporary<float, Context> const& packed,
                             [[maybe_unused]] device_plan<Context> const& plan,
                             [[maybe_unused]] sorted_list<Context> const& list,
                             [[maybe_unused]] Epilogue const& epilogue) {
    if constexpr (on_device<Context>) {
      typename Context::backend::template cursor<float> stored{};
      if constexpr (requires { epilogue.error; }) stored = epilogue.error;
      project_list(ctx, t, observe(ctx, packed), plan, list, stored, shape, epilogue);
    } else {
      kernel::parallel_project_subset<typename Context::backend, Epilogue> kernel{
          subset_of(ctx, t, shape, packed, plan), epilogue};
      kernel.plan_scratch();
      launch(ctx, shape.views, kernel);
    }
  }
  template <class Context>
  static index_t partial_sum_floats([[maybe_unused]] tables<Context> const& t,
                                    [[maybe_unused]] kernel::chunked_shape const& shape,
                                    [[maybe_unused]] index_t pixels) {
    if constexpr (on_device<Context>) {
      return 0;
    } else {
      if (keeps_projection<Context>(t, shape, pixels)) return 0;
      index_t const floats = std::ssize(t.subsets->ranges) * pixels * shape.chunks * shape.width;
      return 2 * floats <= shape.size() ? floats : 0;
    }
  }
  template <class Context, class VoxelColumns>
  static void fused_update_backproject([[maybe_unused]] Context const& ctx, scan<Geometry> const&,
                                       [[maybe_unused]] tables<Context> const& t,
                                       [[maybe_unused]] deferred_update<Context> const& update,
                                       [[maybe_unused]] device_plan<Context> const& plan,
                                       [[maybe_unused]] temporary<float, Context> const& parts,
                                       [[maybe_unused]] VoxelColumns voxel_columns) {
    if constexpr (!on_device<Context>) {
      using B = typename Context::backend;
      using weights = typename B::template cursor<float const>;
      auto const& shape = update.shape;
      auto const groups = plan.groups.all();
      index_t const tasks = std::ssize(t.subsets->ranges);
      auto const back_project = [&](auto weighted, weights w) {
        kernel::axpy_epilogue<B, weighted> const error{w, observe(ctx, update.error), update.step, shape};
        kernel::parallel_fused_update_backproject<B, weighted> kernel{
            {error.error, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, t.subsets->device_passes),
             shape, false, groups, {groups.size(), 1}},
            {t.subsets->ranges.data(), tasks},
            subset_of(ctx, t, shape, *update.packed_direction, update.plan ? *update.plan : plan), error,
            update.plan != nullptr, observe(ctx, parts), plan.pixels, t.subsets->block};
        kernel.plan_scratch();
        launch(ctx, tasks, kernel);
      };
      if (update.weights) back_project(std::true_type{}, observe(ctx, *update.weights));
      else back_project(std::false_type{}, weights{});
      launch(ctx, groups.size(),
             kernel::reduce_partials<B>{observe(ctx, parts), voxel_columns, observe(ctx, plan.offsets), tasks,
                                        plan.pixels, {shape.rows, shape.chunks * shape.width}, groups});
    }
  }

  /// Layout of a forward projection whose result is not back projected.
  template <class Context> static kernel::chunked_shape forward_shape(Geometry const& g) {
    using B = typename Context::backend;
    constexpr int most =
        on_device<Context> ? kernel::parallel_gather<B>::most_packs : kernel::parallel_views<B>::most_packs;
    return kernel::make_chunks(g.views, g.channels, g.rows, B::lanes, most);
  }

  template <class Context, class VoxelColumns>
  static void unweighted_hessian(Context const& ctx, scan<Geometry> const& s, device_plan<Context> const& plan,
                                 VoxelColumns voxel_columns) {
    auto const& g = s.geometry();
    auto const passes = kernel::make_view_taps(s);
    device_table const device_passes(ctx, passes, "passes");
    kernel::parallel_unweighted_hessian<typename Context::backend> kernel{voxel_columns, observe(ctx, plan.rows),
                                                                          observe(ctx, plan.cols),
                                                                          observe(ctx, plan.offsets),
                                                                          observe(ctx, device_passes),
                                                                          device_passes.size(), g.channels, g.slices,
                                                                          plan.groups.all()};
    kernel.plan_scratch();
    launch(ctx, plan.groups.size(), kernel);
  }
};

}  // namespace mbirk::detail
