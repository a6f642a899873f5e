// Operations stage by stage: every stage of the definition runs over whole arrays before the next one begins, with the
// intermediate results in memory. Results equal those of the tuned operations up to rounding; comparing times and
// counts shows what fusing the stages saves. Host only.
//
//   parallel projections    weights of all views and pixels; sums with weights that are read
//   cone projections        for each view columns (pixels, rows); sums over channels, over slices or rows
//   Hessian diagonal        a sinogram of ones is projected back with squared weights
//   filters                 change of layout, cosine weights, weighted sinogram (cone), filter, change of layout
//   direct reconstructions  the filter's stages into a sinogram, then those of the back projection
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <numbers>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "mbirk/profile/staged_kernels.hpp"
#include "mbirk/profile/staged_general.hpp"
#include "mbirk/profile/staged_multiaxis.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/recon/direct_recon.hpp"

namespace mbirk::profile::staged {
namespace detail {

using namespace mbirk::detail;

template <class Context> using cursor = typename Context::backend::template cursor<float>;
template <class Context> using const_cursor = typename Context::backend::template cursor<float const>;

/// First channels and weights of all passes as arrays, filled by the stage "weights".
template <class Context> struct stored_weights {
  temporary<std::int32_t, Context> first;
  temporary<float, Context> weights;
  kernel::stored_taps<typename Context::backend> taps;

  template <std::derived_from<parallel_geometry> Geometry>
  stored_weights(Context const& ctx, scan<Geometry> const& s, device_table<kernel::view_taps, Context> const& passes,
                 device_plan<Context> const& plan, bool squared)
      : first(ctx, "first channels", plan.groups.size() * passes.size() * kernel::group_pixels, true),
        weights(ctx, "weights", 3 * first.size(), true),
        taps{observe(ctx, first), observe(ctx, weights), passes.size()} {
    [[maybe_unused]] auto const guard = ctx.instr.stage("weights");
    using B = typename Context::backend;
    launch(ctx, plan.groups.size(),
           kernel::store_parallel_taps<B>{observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, passes), taps,
                                          s.geometry().channels, squared, plan.groups.all()});
  }
};

/// y = A x over planned pixels into a channel-major sinogram.
template <class Context, std::derived_from<parallel_geometry> Geometry>
void project_channel_major(Context const& ctx, planned_projection<Context, Geometry> const& planned,
                           const_cursor<Context> voxel_columns, cursor<Context> channel_major,
                           kernel::chunked_shape const& shape) {
  auto const& plan = planned.pixels;
  auto const& t = planned.tables;
  stored_weights<Context> const stored(ctx, planned.scan, t.device_forward, plan, false);
  [[maybe_unused]] auto const guard = ctx.instr.stage("forward");
  kernel::parallel_forward_stored<typename Context::backend> kernel{
      {voxel_columns, channel_major, observe(ctx, plan.rows), observe(ctx, plan.cols), observe(ctx, plan.offsets),
       observe(ctx, t.device_forward), observe(ctx, t.device_order),
       {t.ranges.data(), static_cast<index_t>(t.ranges.size())}, shape, plan.groups.all()},
      stored.taps};
  kernel.plan_scratch();
  launch(ctx, projector<Geometry>::template forward_tasks<Context>(t, shape), kernel);
}
/// x = A' y (or the elementwise square of A, transposed) over planned pixels, from a channel-major sinogram.
template <class Context, std::derived_from<parallel_geometry> Geometry>
void back_project_channel_major(Context const& ctx, planned_projection<Context, Geometry> const& planned,
                                const_cursor<Context> channel_major, kernel::chunked_shape const& shape,
                                int coeff_power, cursor<Context> voxel_columns) {
  auto const& plan = planned.pixels;
  auto const& t = planned.tables;
  stored_weights<Context> const stored(ctx, planned.scan, t.device_back, plan, coeff_power == 2);
  [[maybe_unused]] auto const guard = ctx.instr.stage("back");
  kernel::parallel_back_stored<typename Context::backend> kernel{
      channel_major,    voxel_columns, observe(ctx, plan.offsets), observe(ctx, t.device_back), stored.taps,
      t.two_tap_passes, shape,         plan.groups.all()};
  kernel.plan_scratch();
  launch(ctx, plan.groups.size(), kernel);
}

/// Allocates columns for the views processed at once, and calls f(stage) for each batch of views.
template <class Context, std::derived_from<cone_geometry> Geometry, class F>
void each_turn(Context const& ctx, planned_projection<Context, Geometry> const& planned,
               kernel::chunked_shape const& shape, index_t at_once, F const& f) {
  auto const& plan = planned.pixels;
  auto const views = planned.scan.geometry().views;
  temporary<float, Context> columns(ctx, "columns", std::min(views, at_once) * plan.pixels * shape.width);
  for (index_t v = 0; v < views; v += at_once)
    f(kernel::cone_stage<typename Context::backend>{make_cone_view(ctx, planned.scan, planned.tables, plan, false),
                                                    observe(ctx, columns), observe(ctx, plan.offsets), shape,
                                                    plan.groups.all(), plan.pixels, v, std::min(at_once, views - v)});
}
template <class Context, class Kernel>
void run_stage(Context const& ctx, char const* name, index_t tasks, Kernel kernel) {
  [[maybe_unused]] auto const guard = ctx.instr.stage(name);
  kernel.plan_scratch();
  launch(ctx, tasks, kernel);
}

/// Each view is written by one task, so as many views are processed at once as there are threads, up to 8 to limit
/// memory; one view when counting.
template <class Context, std::derived_from<cone_geometry> Geometry>
void project_channel_major(Context const& ctx, planned_projection<Context, Geometry> const& planned,
                           const_cursor<Context> voxel_columns, cursor<Context> channel_major,
                           kernel::chunked_shape const& shape) {
  using B = typename Context::backend;
  each_turn(ctx, planned, shape, ctx.exec.workers(decltype(ctx.instr)::traits.serial ? 1 : 8), [&](auto const& stage) {
    run_stage(ctx, "rows", stage.tasks(), kernel::cone_resample_columns<B>{stage, voxel_columns});
    run_stage(ctx, "channels", stage.views, kernel::cone_scatter_columns<B>{stage, channel_major});
  });
}
template <class Context, std::derived_from<cone_geometry> Geometry>
void back_project_channel_major(Context const& ctx, planned_projection<Context, Geometry> const& planned,
                                const_cursor<Context> channel_major, kernel::chunked_shape const& shape,
                                int coeff_power, cursor<Context> voxel_columns) {
  using B = typename Context::backend;
  auto const& plan = planned.pixels;
  {
    [[maybe_unused]] auto const guard = ctx.instr.stage("zero");
    using zero = kernel::zero_columns<B>;
    launch(ctx, ceil_div(plan.pixels, zero::batch),
           zero{voxel_columns, observe(ctx, plan.offsets), plan.pixels, planned.scan.geometry().slices});
  }
  auto const run_stages = [&]<int Power>(std::integral_constant<int, Power>) {
    each_turn(ctx, planned, shape, 1, [&](auto const& stage) {
      run_stage(ctx, "channels", stage.tasks(), kernel::cone_gather_columns<B, Power>{stage, channel_major});
      run_stage(ctx, "rows", stage.tasks(), kernel::cone_add_slices<B, Power>{stage, voxel_columns});
    });
  };
  if (coeff_power == 2) run_stages(std::integral_constant<int, 2>{});
  else run_stages(std::integral_constant<int, 1>{});
}

template <class Context, class Geometry>
void project_staged(Context const& ctx, planned_projection<Context, Geometry> const& plan,
                    const_cursor<Context> voxel_columns, view<float, 3> sinogram) {
  auto const shape = projector<Geometry>::template forward_shape<Context>(plan.scan.geometry());
  temporary<float, Context> channel_major(ctx, "channel-major sinogram", shape.size());
  project_channel_major(ctx, plan, voxel_columns, observe(ctx, channel_major), shape);
  store_sinogram(ctx, channel_major, sinogram, shape);
}
template <class Context, class Geometry>
void project_back_staged(Context const& ctx, planned_projection<Context, Geometry> const& plan,
                         view<float const, 3> sinogram, char const* name, int coeff_power,
                         cursor<Context> voxel_columns) {
  auto const shape = projector<Geometry>::template channel_major_shape<Context>(plan.scan.geometry());
  temporary<float, Context> channel_major(ctx, "channel-major sinogram", shape.size());
  load_sinogram(ctx, sinogram, channel_major, shape, name);
  back_project_channel_major(ctx, plan, observe(ctx, channel_major), shape, coeff_power, voxel_columns);
}

/// A parallel-beam scan whose filter has the given scale: of the geometry, the filter depends only on the scale and on
/// whether it is weighted.
inline parallel_scan scan_of_scale(kernel::chunked_shape const& shape, double scale) {
  parallel_parameters p;
  p.sinogram_shape = {shape.views, shape.rows, shape.channels};
  p.angles.resize(static_cast<std::size_t>(shape.views));
  p.recon_shape = {{1, 1, shape.rows}};
  p.delta_voxel = std::sqrt(std::numbers::pi / static_cast<double>(shape.views) / scale);
  return parallel_scan(p);
}

/// Runs the filter's stages from one channel-major sinogram into another.
template <class Context, class Geometry>
void filter_inside(Context const& ctx, scan<Geometry> const& s, temporary<float, Context> const& in,
                   temporary<float, Context> const& out, kernel::chunked_shape const& shape,
                   filter_options const& options) {
  using B = typename Context::backend;
  auto const& g = s.geometry();
  if constexpr (Geometry::weighs_rays) {
    if (definition::ramp_weighted(g) && shape.views > 0) {
      temporary<float, Context> weights(ctx, "filter weights", shape.chunks * shape.channels * shape.width),
          weighted(ctx, "weighted sinogram", shape.size());
      {
        [[maybe_unused]] auto const guard = ctx.instr.stage("filter weights");
        launch(ctx, shape.channels, kernel::ramp_weights<B>{observe(ctx, weights), g, shape});
      }
      {
        [[maybe_unused]] auto const guard = ctx.instr.stage("weight");
        launch(ctx, shape.views,
               kernel::weigh_samples<B>{observe(ctx, in), observe(ctx, weights), observe(ctx, weighted), shape});
      }
      return filter_channel_major(ctx, scan_of_scale(shape, definition::ramp_scale(g)), weighted, out, shape, options);
    }
  }
  filter_channel_major(ctx, s, in, out, shape, options);
}

}  // namespace detail

/// mbirk::forward_project in stages.
template <class Exec, class Instr, class Geometry>
void forward_project(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> recon,
                     view<float, 3> sinogram) {
  detail::check_forward(ctx, s, recon, sinogram);
  [[maybe_unused]] auto const guard = detail::forward_scope(ctx, s);
  auto const plan = detail::plan_mask(ctx, s, recon);
  detail::project_staged(ctx, plan, observe(ctx, recon, "recon", array_role::argument), sinogram);
}

/// mbirk::back_project in stages.
template <class Exec, class Instr, class Geometry>
void back_project(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                  view<float, 3> recon) {
  detail::check_back(ctx, s, sinogram, recon);
  [[maybe_unused]] auto const guard = detail::back_scope(ctx, s);
  detail::zero_outside(ctx, detail::outside_columns(ctx, s, recon.strides()), recon);
  auto const plan = detail::plan_mask(ctx, s, recon);
  detail::project_back_staged(ctx, plan, sinogram, "sinogram", 1, observe(ctx, recon, "recon", array_role::output));
}

/// mbirk::sparse_forward_project in stages.
template <class Exec, class Instr, class Geometry>
void sparse_forward_project(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 2> voxel_values,
                            view<std::int32_t const, 1> pixel_indices, view<float, 3> sinogram) {
  detail::check_sparse_forward(ctx, s, voxel_values, pixel_indices.size(), sinogram);
  auto const pixels = detail::check_pixels(s, pixel_indices, "sparse_forward_project");
  [[maybe_unused]] auto const guard = detail::sparse_forward_scope(ctx, s, pixel_indices.size());
  auto const plan = detail::plan_list(ctx, s, pixels, voxel_values);
  detail::project_staged(ctx, plan, observe(ctx, voxel_values, "voxel_values", array_role::argument), sinogram);
}

/// mbirk::sparse_back_project in stages.
template <class Exec, class Instr, class Geometry>
void sparse_back_project(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                         view<std::int32_t const, 1> pixel_indices, view<float, 2> voxel_values, int coeff_power = 1) {
  detail::check_sparse_back(ctx, s, sinogram, voxel_values, pixel_indices.size(), coeff_power);
  auto const pixels = detail::check_pixels(s, pixel_indices, "sparse_back_project");
  [[maybe_unused]] auto const guard = detail::sparse_back_scope(ctx, s, pixel_indices.size());
  auto const plan = detail::plan_list(ctx, s, pixels, voxel_values);
  detail::project_back_staged(ctx, plan, sinogram, "sinogram", coeff_power,
                              observe(ctx, voxel_values, "voxel_values", array_role::output));
}

/// mbirk::hessian_diagonal in stages; without weights it stores a sinogram of ones as an array.
template <class Exec, class Instr, class Geometry>
void hessian_diagonal(context<Exec, Instr> const& ctx, scan<Geometry> const& s,
                      std::optional<view<float const, 3>> weights, view<float, 3> hessian) {
  using Context = context<Exec, Instr>;
  detail::check_hessian(ctx, s, weights, hessian);
  [[maybe_unused]] auto const guard = detail::hessian_scope(ctx, s);
  detail::planned_projection const plan(ctx, s, detail::grid_pixels(s, hessian.strides()));
  auto const voxel_columns = observe(ctx, hessian, "hessian", array_role::output);
  if (weights) return detail::project_back_staged(ctx, plan, *weights, "weights", 2, voxel_columns);
  auto const shape = detail::projector<Geometry>::template channel_major_shape<Context>(s.geometry());
  temporary<float, Context> ones(ctx, "channel-major ones", shape.size());
  {
    [[maybe_unused]] auto const stage = ctx.instr.stage("ones");
    launch(ctx, shape.chunks * shape.views, kernel::fill_ones<typename Context::backend>{observe(ctx, ones), shape});
  }
  detail::back_project_channel_major(ctx, plan, observe(ctx, ones), shape, 2, voxel_columns);
}

/// mbirk::direct_filter in stages.
template <class Exec, class Instr, has_direct_recon Geometry>
void direct_filter(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                   view<float, 3> filtered, filter_options const& options = {}) {
  using Context = context<Exec, Instr>;
  detail::check_filter(options, "direct_filter");
  detail::check_sinogram(ctx, s, sinogram, "direct_filter");
  detail::check_sinogram(ctx, s, filtered, "direct_filter", "filtered");
  auto const& g = s.geometry();
  [[maybe_unused]] auto const guard =
      ctx.instr.scope({detail::operation_name<Geometry, "direct_filter">, g.views * g.rows * g.channels});
  auto const shape =
      kernel::make_chunks(g.views, g.channels, g.rows, Context::backend::lanes, std::max<index_t>(1, g.rows));
  temporary<float, Context> in(ctx, "channel-major sinogram", shape.size()),
      out(ctx, "filtered sinogram", shape.size());
  detail::load_sinogram(ctx, sinogram, in, shape);
  detail::filter_inside(ctx, s, in, out, shape, options);
  detail::store_sinogram(ctx, out, filtered, shape);
}

/// mbirk::direct_recon in stages.
template <class Exec, class Instr, has_direct_recon Geometry>
void direct_recon(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                  view<float, 3> recon, filter_options const& options = {},
                  std::vector<std::string>* warnings = nullptr) {
  using Context = context<Exec, Instr>;
  detail::check_filter(options, "direct_recon");
  detail::check_sinogram(ctx, s, sinogram, "direct_recon");
  detail::check_recon(ctx, s, recon, "direct_recon");
  [[maybe_unused]] auto const guard =
      ctx.instr.scope({detail::operation_name<Geometry, "direct_recon">, detail::masked_pairs(s)});
  auto const shape = detail::projector<Geometry>::template channel_major_shape<Context>(s.geometry());
  temporary<float, Context> in(ctx, "channel-major sinogram", shape.size()),
      filtered(ctx, "filtered sinogram", shape.size());
  detail::load_sinogram(ctx, sinogram, in, shape);
  detail::filter_inside(ctx, s, in, filtered, shape, options);
  detail::zero_outside(ctx, detail::outside_columns(ctx, s, recon.strides()), recon);
  auto const plan = detail::plan_mask(ctx, s, recon);
  auto const voxel_columns = observe(ctx, recon, "recon", array_role::output);
  detail::back_project_channel_major(ctx, plan, observe(ctx, filtered), shape, 1, voxel_columns);
  detail::weigh_slices(ctx, s, plan.pixels, voxel_columns, warnings);
}

}  // namespace mbirk::profile::staged
