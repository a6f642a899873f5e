// Parallel-beam projector operations: check shapes, open a scope, lay out, launch. Nothing else.
#pragma once

#include <algorithm>
#include <optional>
#include <tuple>

#include "mbirk/kernel/host/parallel_back.hpp"
#include "mbirk/kernel/host/parallel_forward.hpp"
#include "mbirk/kernel/host/parallel_hessian.hpp"
#include "mbirk/projector/detail.hpp"

namespace mbirk {
namespace detail {

/// y = A x over planned pixels, into the caller's sinogram.
template <class Context, class Cylinders>
void parallel_forward(Context const& ctx, parallel_scan const& s, Cylinders cylinders, kernel::pixel_plan const& plan, view<float, 3> sinogram) {
  using B = typename Context::backend;
  auto const& g = s.geometry();
  auto const shape = kernel::make_chunks(g.views, g.channels, g.rows, B::lanes, kernel::parallel_forward<B>::most_packs);
  auto const passes = kernel::make_passes(s);
  std::vector<std::int32_t> order(passes.size() * kernel::group_pixels);
  for (std::size_t p = 0; p < passes.size(); ++p) kernel::sort_tile(passes[p], order.data() + p * kernel::group_pixels);

  // A task owns whole views; their number does not depend on the threads, so neither do the counts.
  index_t const views_per_task = std::clamp<index_t>(g.views / 8, 1, 16);
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
void parallel_back(Context const& ctx, parallel_scan const& s, view<float const, 3> sinogram, char const* name, kernel::pixel_plan const& plan,
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

inline index_t pairs(parallel_scan const& s, index_t pixels) { return s.geometry().views * pixels * s.geometry().slices; }

}  // namespace detail

/// Forward projection y = A x over the pixels inside the mask; what lies outside is ignored, even if it is not finite.
///
/// @param ctx       where it runs and what is noticed; returns when done (host).
/// @param recon     (rows, cols, slices), attenuation per ALU.
/// @param sinogram  (views, rows, channels), line integrals, dimensionless; overwritten; may not alias recon.
/// @throws shape_error before anything runs, allocation_error when the temporary does not fit.
/// Cost: views x pixels x slices x (W + 1) FMAs; temporary: one channel-major sinogram. The same bits for any number of threads.
template <execution_policy Exec, instrumentation_policy Instr>
void forward_project(context<Exec, Instr> const& ctx, parallel_scan const& s, view<float const, 3> recon, view<float, 3> sinogram) {
  detail::check(ctx, recon, s.recon_shape(), "forward_project", "recon", "(rows, cols, slices)");
  detail::check(ctx, sinogram, s.sinogram_shape(), "forward_project", "sinogram", "(views, rows, channels)");
  auto const plan = kernel::plan_grid(recon.extent(0), recon.extent(1), s.mask().data(), recon.stride(0), recon.stride(1));
  [[maybe_unused]] auto const guard = ctx.instr.scope({"parallel_forward_project", detail::pairs(s, plan.pixels)});
  detail::parallel_forward(ctx, s, observe(ctx, recon, "recon", array_role::argument), plan, sinogram);
}

/// Back projection x = A' y, the exact transpose of forward_project: computed inside the mask, 0 elsewhere.
///
/// @param sinogram  (views, rows, channels).
/// @param recon     (rows, cols, slices); overwritten; may not alias sinogram.
/// @throws shape_error before anything runs, allocation_error when the temporary does not fit.
/// Cost: as forward_project. The same bits for any number of threads.
template <execution_policy Exec, instrumentation_policy Instr>
void back_project(context<Exec, Instr> const& ctx, parallel_scan const& s, view<float const, 3> sinogram, view<float, 3> recon) {
  detail::check(ctx, sinogram, s.sinogram_shape(), "back_project", "sinogram", "(views, rows, channels)");
  detail::check(ctx, recon, s.recon_shape(), "back_project", "recon", "(rows, cols, slices)");
  auto const plan = kernel::plan_grid(recon.extent(0), recon.extent(1), s.mask().data(), recon.stride(0), recon.stride(1));
  [[maybe_unused]] auto const guard = ctx.instr.scope({"parallel_back_project", detail::pairs(s, plan.pixels)});
  detail::zero_outside(ctx, s.mask(), recon);
  detail::parallel_back(ctx, s, sinogram, "sinogram", plan, 1, observe(ctx, recon, "recon", array_role::output));
}

/// Forward projection of listed pixels, inside the mask or not, in any order; a pixel listed twice contributes twice.
///
/// @param voxel_values   (pixels, slices).
/// @param pixel_indices  (pixels), i * cols + j.
/// @param sinogram       (views, rows, channels); overwritten; zero when the list is empty.
/// @throws shape_error, index_error before anything runs, allocation_error when the temporary does not fit.
template <execution_policy Exec, instrumentation_policy Instr>
void sparse_forward_project(context<Exec, Instr> const& ctx, parallel_scan const& s, view<float const, 2> voxel_values,
                            view<std::int32_t const, 1> pixel_indices, view<float, 3> sinogram) {
  auto const& g = s.geometry();
  detail::check(ctx, voxel_values, {pixel_indices.extent(0), g.slices}, "sparse_forward_project", "voxel_values", "(pixels, slices)");
  detail::check(ctx, sinogram, s.sinogram_shape(), "sparse_forward_project", "sinogram", "(views, rows, channels)");
  auto const pixels = detail::check_pixels(pixel_indices, g.recon_rows * g.recon_cols, "sparse_forward_project");
  auto const plan = kernel::plan_list(pixels, g.recon_rows, g.recon_cols, voxel_values.stride(0));
  [[maybe_unused]] auto const guard = ctx.instr.scope({"parallel_sparse_forward_project", detail::pairs(s, plan.pixels)});
  detail::parallel_forward(ctx, s, observe(ctx, voxel_values, "voxel_values", array_role::argument), plan, sinogram);
}

/// Back projection at listed pixels with the weights of A to the power 1 or 2.
///
/// @param sinogram       (views, rows, channels).
/// @param pixel_indices  (pixels), i * cols + j, in any order.
/// @param voxel_values   (pixels, slices); overwritten.
/// @param coeff_power    1 for the transpose, 2 for the Hessian's weights.
/// @throws shape_error, index_error, parameter_error before anything runs, allocation_error when the temporary does not fit.
template <execution_policy Exec, instrumentation_policy Instr>
void sparse_back_project(context<Exec, Instr> const& ctx, parallel_scan const& s, view<float const, 3> sinogram,
                         view<std::int32_t const, 1> pixel_indices, view<float, 2> voxel_values, int coeff_power = 1) {
  auto const& g = s.geometry();
  detail::check_power(coeff_power);
  detail::check(ctx, sinogram, s.sinogram_shape(), "sparse_back_project", "sinogram", "(views, rows, channels)");
  detail::check(ctx, voxel_values, {pixel_indices.extent(0), g.slices}, "sparse_back_project", "voxel_values", "(pixels, slices)");
  auto const pixels = detail::check_pixels(pixel_indices, g.recon_rows * g.recon_cols, "sparse_back_project");
  auto const plan = kernel::plan_list(pixels, g.recon_rows, g.recon_cols, voxel_values.stride(0));
  [[maybe_unused]] auto const guard = ctx.instr.scope({"parallel_sparse_back_project", detail::pairs(s, plan.pixels)});
  detail::parallel_back(ctx, s, sinogram, "sinogram", plan, coeff_power, observe(ctx, voxel_values, "voxel_values", array_role::output));
}

/// Diagonal of A' diag(w) A at all rows x cols pixels; the mask is not applied. Without weights w = 1 and no sinogram is read.
///
/// @param weights  (views, rows, channels), or nothing.
/// @param hessian  (rows, cols, slices); overwritten.
/// @throws shape_error before anything runs, allocation_error when the temporary does not fit.
/// Cost: with weights as back_project; without, views x pixels footprints, shared by all slices.
template <execution_policy Exec, instrumentation_policy Instr>
void hessian_diagonal(context<Exec, Instr> const& ctx, parallel_scan const& s, std::optional<view<float const, 3>> weights, view<float, 3> hessian) {
  using B = typename context<Exec, Instr>::backend;
  auto const& g = s.geometry();
  if (weights) detail::check(ctx, *weights, s.sinogram_shape(), "hessian_diagonal", "weights", "(views, rows, channels)");
  detail::check(ctx, hessian, s.recon_shape(), "hessian_diagonal", "hessian", "(rows, cols, slices)");
  auto const plan = kernel::plan_grid(g.recon_rows, g.recon_cols, nullptr, hessian.stride(0), hessian.stride(1));
  [[maybe_unused]] auto const guard = ctx.instr.scope({"parallel_hessian_diagonal", detail::pairs(s, plan.pixels)});
  auto const out = observe(ctx, hessian, "hessian", array_role::output);
  if (weights) return detail::parallel_back(ctx, s, *weights, "weights", plan, 2, out);

  auto const passes = kernel::make_passes(s);
  [[maybe_unused]] auto const stage = ctx.instr.stage("project");
  detail::observed_plan<context<Exec, Instr>> const pixels(ctx, plan);
  kernel::parallel_unit_hessian<B> kernel{out, pixels.rows, pixels.cols, pixels.offsets, detail::observe_table(ctx, passes, "passes"),
                                          static_cast<index_t>(passes.size()), g.channels, g.slices, plan.groups};
  kernel.plan_scratch();
  launch(ctx, static_cast<index_t>(plan.groups.size()), kernel);
}

}  // namespace mbirk
