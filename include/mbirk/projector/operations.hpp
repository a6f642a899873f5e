// The projector operations, written once for all geometries: check shapes, open a scope, plan the pixels unless the
// caller has a plan, run the geometry's kernels. Users include projector/all.hpp or the header of one
// geometry, which provide the kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "mbirk/projector/concept.hpp"
#include "mbirk/projector/detail.hpp"
#include "mbirk/projector/plan.hpp"

namespace mbirk {
namespace detail {

template <class Geometry> index_t pairs(scan<Geometry> const& s, index_t pixels) {
  return s.geometry().views * pixels * s.geometry().slices;
}

template <class Geometry> index_t masked_pairs(scan<Geometry> const& s) {
  return pairs(s, static_cast<index_t>(s.full_indices().size()));
}

// Checks and scope of each operation, for all of its forms.

template <class Context, class Geometry>
void check_forward(Context const& ctx, scan<Geometry> const& s, view<float const, 3> recon, view<float, 3> sinogram) {
  check_recon(ctx, s, recon, "forward_project");
  check_sinogram(ctx, s, sinogram, "forward_project");
}
template <class Context, class Geometry> auto forward_scope(Context const& ctx, scan<Geometry> const& s) {
  return ctx.instr.scope({operation_name<Geometry, "forward_project">, masked_pairs(s)});
}

template <class Context, class Geometry>
void check_back(Context const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram, view<float, 3> recon) {
  check_sinogram(ctx, s, sinogram, "back_project");
  check_recon(ctx, s, recon, "back_project");
}
template <class Context, class Geometry> auto back_scope(Context const& ctx, scan<Geometry> const& s) {
  return ctx.instr.scope({operation_name<Geometry, "back_project">, masked_pairs(s)});
}

template <class Context, class Geometry>
void check_sparse_forward(Context const& ctx, scan<Geometry> const& s, view<float const, 2> voxel_values,
                          index_t pixels, view<float, 3> sinogram) {
  check_columns(ctx, s, voxel_values, pixels, "sparse_forward_project");
  check_sinogram(ctx, s, sinogram, "sparse_forward_project");
}
template <class Context, class Geometry>
auto sparse_forward_scope(Context const& ctx, scan<Geometry> const& s, index_t pixels) {
  return ctx.instr.scope({operation_name<Geometry, "sparse_forward_project">, pairs(s, pixels)});
}

template <class Context, class Geometry>
void check_sparse_back(Context const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                       view<float, 2> voxel_values, index_t pixels, int coeff_power) {
  require(coeff_power == 1 || coeff_power == 2,
          [&] { return detail::message("sparse_back_project: coeff_power is ", coeff_power, ", expected 1 or 2"); });
  check_sinogram(ctx, s, sinogram, "sparse_back_project");
  check_columns(ctx, s, voxel_values, pixels, "sparse_back_project");
}
template <class Context, class Geometry>
auto sparse_back_scope(Context const& ctx, scan<Geometry> const& s, index_t pixels) {
  return ctx.instr.scope({operation_name<Geometry, "sparse_back_project">, pairs(s, pixels)});
}

template <class Context, class Geometry>
void check_hessian(Context const& ctx, scan<Geometry> const& s, std::optional<view<float const, 3>> const& weights,
                   view<float, 3> hessian) {
  if (weights) check_sinogram(ctx, s, *weights, "hessian_diagonal", "weights");
  check_recon(ctx, s, hessian, "hessian_diagonal", "hessian");
}
template <class Context, class Geometry> auto hessian_scope(Context const& ctx, scan<Geometry> const& s) {
  auto const& g = s.geometry();
  return ctx.instr.scope({operation_name<Geometry, "hessian_diagonal">, pairs(s, g.recon_rows * g.recon_cols)});
}

/// y = A x over planned pixels, into the caller's sinogram.
template <class Context, class Geometry, class VoxelColumns>
void project(Context const& ctx, planned_projection<Context, Geometry> const& plan, VoxelColumns voxel_columns,
             view<float, 3> sinogram) {
  using B = typename Context::backend;
  using P = projector<Geometry>;
  auto const shape = P::template forward_shape<Context>(plan.scan.geometry());
  temporary<float, Context> channel_major(ctx, "channel-major sinogram", shape.size());
  {
    [[maybe_unused]] auto const guard = ctx.instr.stage("project");
    P::project_channel_major(ctx, plan.scan, plan.tables, voxel_columns, plan.pixels, observe(ctx, channel_major),
                             shape, kernel::store_epilogue<B>{});
  }
  store_sinogram(ctx, channel_major, sinogram, shape);
}

/// x = A' y (or with the elementwise square of A) over planned pixels, into the caller's voxel columns.
template <class Context, class Geometry, class VoxelColumns>
void project_back(Context const& ctx, planned_projection<Context, Geometry> const& plan, view<float const, 3> sinogram,
                  char const* name, int coeff_power, VoxelColumns voxel_columns) {
  using P = projector<Geometry>;
  auto const shape = P::template channel_major_shape<Context>(plan.scan.geometry());
  temporary<float, Context> channel_major(ctx, "channel-major sinogram", shape.size());
  load_sinogram(ctx, sinogram, channel_major, shape, name);
  [[maybe_unused]] auto const guard = ctx.instr.stage("project");
  P::back_project_channel_major(ctx, plan.scan, plan.tables, observe(ctx, channel_major), shape, plan.pixels,
                                coeff_power, voxel_columns);
}

}  // namespace detail

/// Forward projection y = A x over the pixels inside the mask; pixels outside are ignored, even if their values are not
/// finite.
///
/// @param ctx       execution and instrumentation. On the host the call returns when the result is complete; on a
///                  device the work is queued and the call returns before it is done.
/// @param s         the geometry: parallel_scan or cone_scan.
/// @param recon     (rows, cols, slices), attenuation per unit of length.
/// @param sinogram  (views, rows, channels), line integrals, dimensionless; overwritten; may not alias recon.
/// @throws shape_error before anything runs, allocation_error when the temporary does not fit.
/// Cost: views x pixels x slices x (W + 1) FMAs in parallel beam, about 18 vector operations per view, pixel and pack
/// of slices in cone beam, and planning the pixels, which a projection_plan does once for many calls; temporary memory:
/// one channel-major sinogram. The result is bitwise independent of the number of threads. Source: separable footprints
/// with box profiles (Balke et al. 2018; MBIRJAX), with full support.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
void forward_project(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> recon,
                     view<float, 3> sinogram) {
  detail::check_forward(ctx, s, recon, sinogram);
  [[maybe_unused]] auto const guard = detail::forward_scope(ctx, s);
  auto const plan = detail::plan_mask(ctx, s, recon);
  detail::project(ctx, plan, observe(ctx, recon, "recon", array_role::argument), sinogram);
}

/// forward_project with a plan of the pixels inside the mask, the strides of recon being those of the plan.
/// @throws also parameter_error for a plan of other pixels; shape_error for other strides.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
void forward_project(context<Exec, Instr> const& ctx, projection_plan<context<Exec, Instr>, Geometry> const& plan,
                     view<float const, 3> recon, view<float, 3> sinogram) {
  auto const& planned = plan.of_mask("forward_project");
  detail::check_forward(ctx, planned.scan, recon, sinogram);
  plan.check_strides(recon, "forward_project", "recon");
  [[maybe_unused]] auto const guard = detail::forward_scope(ctx, planned.scan);
  detail::project(ctx, planned, observe(ctx, recon, "recon", array_role::argument), sinogram);
}

/// Back projection x = A' y, the exact transpose of forward_project: computed inside the mask, 0 elsewhere.
///
/// @param ctx       as for forward_project.
/// @param s         the geometry: parallel_scan or cone_scan.
/// @param sinogram  (views, rows, channels).
/// @param recon     (rows, cols, slices), length times the unit of the sinogram; overwritten; may not alias sinogram.
/// @throws shape_error before anything runs, allocation_error when the temporary does not fit.
/// Cost: as forward_project. The result is bitwise independent of the number of threads.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
void back_project(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                  view<float, 3> recon) {
  detail::check_back(ctx, s, sinogram, recon);
  [[maybe_unused]] auto const guard = detail::back_scope(ctx, s);
  detail::zero_outside(ctx, detail::outside_columns(ctx, s, recon.strides()), recon);
  auto const plan = detail::plan_mask(ctx, s, recon);
  detail::project_back(ctx, plan, sinogram, "sinogram", 1, observe(ctx, recon, "recon", array_role::output));
}

/// back_project with a plan of the pixels inside the mask, the strides of recon being those of the plan.
/// @throws also parameter_error for a plan of other pixels; shape_error for other strides.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
void back_project(context<Exec, Instr> const& ctx, projection_plan<context<Exec, Instr>, Geometry> const& plan,
                  view<float const, 3> sinogram, view<float, 3> recon) {
  auto const& planned = plan.of_mask("back_project");
  detail::check_back(ctx, planned.scan, sinogram, recon);
  plan.check_strides(recon, "back_project", "recon");
  [[maybe_unused]] auto const guard = detail::back_scope(ctx, planned.scan);
  detail::zero_outside(ctx, plan.outside(), recon);
  detail::project_back(ctx, planned, sinogram, "sinogram", 1, observe(ctx, recon, "recon", array_role::output));
}

/// Forward projection of the listed pixels, inside the mask or not, in any order; a pixel listed twice contributes
/// twice.
///
/// @param ctx            as for forward_project.
/// @param s              the geometry: parallel_scan or cone_scan.
/// @param voxel_values   (pixels, slices), attenuation per unit of length.
/// @param pixel_indices  (pixels), i * cols + j; in host memory under every policy.
/// @param sinogram       (views, rows, channels), dimensionless; overwritten; zero when the list is empty.
/// @throws shape_error, index_error before anything runs, allocation_error when the temporary does not fit.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
void sparse_forward_project(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 2> voxel_values,
                            view<std::int32_t const, 1> pixel_indices, view<float, 3> sinogram) {
  detail::check_sparse_forward(ctx, s, voxel_values, pixel_indices.size(), sinogram);
  auto const pixels = detail::check_pixels(s, pixel_indices, "sparse_forward_project");
  [[maybe_unused]] auto const guard = detail::sparse_forward_scope(ctx, s, pixel_indices.size());
  auto const plan = detail::plan_list(ctx, s, pixels, voxel_values);
  detail::project(ctx, plan, observe(ctx, voxel_values, "voxel_values", array_role::argument), sinogram);
}

/// sparse_forward_project with a plan of a list of pixels, the strides of voxel_values being those of the plan.
/// @throws also parameter_error for a plan of other pixels; shape_error for other strides.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
void sparse_forward_project(context<Exec, Instr> const& ctx,
                            projection_plan<context<Exec, Instr>, Geometry> const& plan,
                            view<float const, 2> voxel_values, view<float, 3> sinogram) {
  auto const& planned = plan.of_list("sparse_forward_project");
  detail::check_sparse_forward(ctx, planned.scan, voxel_values, plan.pixels(), sinogram);
  plan.check_strides(voxel_values, "sparse_forward_project", "voxel_values");
  [[maybe_unused]] auto const guard = detail::sparse_forward_scope(ctx, planned.scan, plan.pixels());
  detail::project(ctx, planned, observe(ctx, voxel_values, "voxel_values", array_role::argument), sinogram);
}

/// Back projection at the listed pixels, with the weights of A raised to the power 1 or 2.
///
/// @param ctx            as for forward_project.
/// @param s              the geometry: parallel_scan or cone_scan.
/// @param sinogram       (views, rows, channels).
/// @param pixel_indices  (pixels), i * cols + j, in any order; in host memory under every policy.
/// @param voxel_values   (pixels, slices), length to the power coeff_power times the unit of the sinogram; overwritten.
/// @param coeff_power    1 for the transpose, 2 for the diagonal of the Hessian.
/// @throws shape_error, index_error, parameter_error before anything runs, allocation_error when the temporary does not
///         fit.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
void sparse_back_project(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                         view<std::int32_t const, 1> pixel_indices, view<float, 2> voxel_values, int coeff_power = 1) {
  detail::check_sparse_back(ctx, s, sinogram, voxel_values, pixel_indices.size(), coeff_power);
  auto const pixels = detail::check_pixels(s, pixel_indices, "sparse_back_project");
  [[maybe_unused]] auto const guard = detail::sparse_back_scope(ctx, s, pixel_indices.size());
  auto const plan = detail::plan_list(ctx, s, pixels, voxel_values);
  detail::project_back(ctx, plan, sinogram, "sinogram", coeff_power,
                       observe(ctx, voxel_values, "voxel_values", array_role::output));
}

/// sparse_back_project with a plan of a list of pixels, the strides of voxel_values being those of the plan.
/// @throws also parameter_error for a plan of other pixels; shape_error for other strides.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
void sparse_back_project(context<Exec, Instr> const& ctx, projection_plan<context<Exec, Instr>, Geometry> const& plan,
                         view<float const, 3> sinogram, view<float, 2> voxel_values, int coeff_power = 1) {
  auto const& planned = plan.of_list("sparse_back_project");
  detail::check_sparse_back(ctx, planned.scan, sinogram, voxel_values, plan.pixels(), coeff_power);
  plan.check_strides(voxel_values, "sparse_back_project", "voxel_values");
  [[maybe_unused]] auto const guard = detail::sparse_back_scope(ctx, planned.scan, plan.pixels());
  detail::project_back(ctx, planned, sinogram, "sinogram", coeff_power,
                       observe(ctx, voxel_values, "voxel_values", array_role::output));
}

/// Diagonal of A' diag(w) A at all rows x cols pixels; the mask is not applied. Without weights, w = 1 and no sinogram
/// is read.
///
/// @param ctx      as for forward_project.
/// @param s        the geometry: parallel_scan or cone_scan.
/// @param weights  (views, rows, channels), dimensionless, or nothing.
/// @param hessian  (rows, cols, slices), length squared; overwritten.
/// @throws shape_error before anything runs, allocation_error when the temporary does not fit.
/// Cost: with weights, as back_project; without weights no sinogram is read, and in parallel beam views x pixels
/// footprints are shared by all slices.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
void hessian_diagonal(context<Exec, Instr> const& ctx, scan<Geometry> const& s,
                      std::optional<view<float const, 3>> weights, view<float, 3> hessian) {
  detail::check_hessian(ctx, s, weights, hessian);
  [[maybe_unused]] auto const guard = detail::hessian_scope(ctx, s);
  auto const voxel_columns = observe(ctx, hessian, "hessian", array_role::output);
  auto pixels = detail::grid_pixels(s, hessian.strides());
  if (weights) {
    detail::planned_projection const plan(ctx, s, std::move(pixels));
    detail::project_back(ctx, plan, *weights, "weights", 2, voxel_columns);
  } else {
    [[maybe_unused]] auto const stage = ctx.instr.stage("project");
    detail::device_plan const plan(ctx, std::move(pixels));
    detail::projector<Geometry>::unweighted_hessian(ctx, s, plan, voxel_columns);
  }
}

}  // namespace mbirk
