// The projector operations, written once for all geometries: check shapes, open a scope, plan the pixels, run the
// geometry's kernels. Nothing else. Users include projector/all.hpp or the header of one geometry, which provide the
// kernels.
#pragma once

#include <optional>

#include "mbirk/projector/concept.hpp"
#include "mbirk/projector/detail.hpp"

namespace mbirk {
namespace detail {

template <class Geometry> index_t pairs(scan<Geometry> const& s, index_t pixels) {
  return s.geometry().views * pixels * s.geometry().slices;
}

template <class T> kernel::pixel_plan plan_mask(std::vector<std::uint8_t> const& mask, view<T, 3> const& recon) {
  return kernel::plan_grid(recon.extent(0), recon.extent(1), mask.data(), recon.stride(0), recon.stride(1));
}

/// y = A x over planned pixels, into the caller's sinogram.
template <class Context, class Geometry, class VoxelColumns>
void project(Context const& ctx, scan<Geometry> const& s, VoxelColumns voxel_columns, kernel::pixel_plan const& plan,
             view<float, 3> sinogram) {
  using B = typename Context::backend;
  using P = projector<Geometry>;
  auto const shape = P::template forward_shape<Context>(s.geometry());
  temporary<float, Context> channel_major(ctx, "channel-major sinogram", shape.size());
  {
    [[maybe_unused]] auto const guard = ctx.instr.stage("project");
    typename P::template tables<Context> const tables(ctx, s);
    P::project_channel_major(ctx, s, tables, voxel_columns, device_plan<Context>(ctx, plan),
                             observe(ctx, channel_major), shape, kernel::store_epilogue<B>{});
  }
  store_sinogram(ctx, channel_major, sinogram, shape);
}

/// x = A' y (or with the elementwise square of A) over planned pixels, into the caller's voxel columns.
template <class Context, class Geometry, class VoxelColumns>
void project_back(Context const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram, char const* name,
                  kernel::pixel_plan const& plan, int coeff_power, VoxelColumns voxel_columns) {
  using P = projector<Geometry>;
  auto const shape = P::template channel_major_shape<Context>(s.geometry());
  temporary<float, Context> channel_major(ctx, "channel-major sinogram", shape.size());
  load_sinogram(ctx, sinogram, channel_major, shape, name);
  [[maybe_unused]] auto const guard = ctx.instr.stage("project");
  typename P::template tables<Context> const tables(ctx, s);
  P::back_project_channel_major(ctx, s, tables, observe(ctx, channel_major), shape, device_plan<Context>(ctx, plan),
                                coeff_power, voxel_columns);
}

/// Sums of the squared weights over planned pixels, into the caller's voxel columns.
template <class Context, class Geometry, class VoxelColumns>
void project_unweighted_hessian(Context const& ctx, scan<Geometry> const& s, kernel::pixel_plan const& plan,
                                VoxelColumns voxel_columns) {
  [[maybe_unused]] auto const guard = ctx.instr.stage("project");
  projector<Geometry>::unweighted_hessian(ctx, s, device_plan<Context>(ctx, plan), voxel_columns);
}

// The following functions are common to all forms of an operation, including the stages of profile/staged.hpp: they
// check arguments, plan pixels, open the scope and observe the voxel columns. project(voxel_columns, plan) does the
// work.

template <class Context, class Geometry, class Project>
void forward_of_recon(Context const& ctx, scan<Geometry> const& s, view<float const, 3> recon, view<float, 3> sinogram,
                      Project const& project) {
  check(ctx, recon, s.recon_shape(), "forward_project", "recon", "(rows, cols, slices)");
  check(ctx, sinogram, s.sinogram_shape(), "forward_project", "sinogram", "(views, rows, channels)");
  auto const plan = plan_mask(s.mask(), recon);
  [[maybe_unused]] auto const guard = ctx.instr.scope({operation_name<Geometry, "forward_project">, pairs(s, plan.pixels)});
  project(observe(ctx, recon, "recon", array_role::argument), plan);
}

template <class Context, class Geometry, class Project>
void back_to_recon(Context const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram, view<float, 3> recon,
                   Project const& project) {
  check(ctx, sinogram, s.sinogram_shape(), "back_project", "sinogram", "(views, rows, channels)");
  check(ctx, recon, s.recon_shape(), "back_project", "recon", "(rows, cols, slices)");
  auto const plan = plan_mask(s.mask(), recon);
  [[maybe_unused]] auto const guard = ctx.instr.scope({operation_name<Geometry, "back_project">, pairs(s, plan.pixels)});
  zero_outside(ctx, s.mask(), recon);
  project(observe(ctx, recon, "recon", array_role::output), plan);
}

template <class Context, class Geometry, class Project>
void forward_of_list(Context const& ctx, scan<Geometry> const& s, view<float const, 2> voxel_values,
                     view<std::int32_t const, 1> pixel_indices, view<float, 3> sinogram, Project const& project) {
  auto const& g = s.geometry();
  check(ctx, voxel_values, {pixel_indices.extent(0), g.slices}, "sparse_forward_project", "voxel_values",
        "(pixels, slices)");
  check(ctx, sinogram, s.sinogram_shape(), "sparse_forward_project", "sinogram", "(views, rows, channels)");
  auto const pixels = check_pixels(pixel_indices, g.recon_rows * g.recon_cols, "sparse_forward_project");
  auto const plan = kernel::plan_list(pixels, g.recon_rows, g.recon_cols, voxel_values.stride(0));
  [[maybe_unused]] auto const guard =
      ctx.instr.scope({operation_name<Geometry, "sparse_forward_project">, pairs(s, plan.pixels)});
  project(observe(ctx, voxel_values, "voxel_values", array_role::argument), plan);
}

template <class Context, class Geometry, class Project>
void back_to_list(Context const& ctx, scan<Geometry> const& s, view<float const, 3> sinogram,
                  view<std::int32_t const, 1> pixel_indices, view<float, 2> voxel_values, int coeff_power,
                  Project const& project) {
  auto const& g = s.geometry();
  check_power(coeff_power);
  check(ctx, sinogram, s.sinogram_shape(), "sparse_back_project", "sinogram", "(views, rows, channels)");
  check(ctx, voxel_values, {pixel_indices.extent(0), g.slices}, "sparse_back_project", "voxel_values",
        "(pixels, slices)");
  auto const pixels = check_pixels(pixel_indices, g.recon_rows * g.recon_cols, "sparse_back_project");
  auto const plan = kernel::plan_list(pixels, g.recon_rows, g.recon_cols, voxel_values.stride(0));
  [[maybe_unused]] auto const guard = ctx.instr.scope({operation_name<Geometry, "sparse_back_project">, pairs(s, plan.pixels)});
  project(observe(ctx, voxel_values, "voxel_values", array_role::output), plan);
}

template <class Context, class Geometry, class Project>
void hessian_on_grid(Context const& ctx, scan<Geometry> const& s, std::optional<view<float const, 3>> const& weights,
                     view<float, 3> hessian, Project const& project) {
  auto const& g = s.geometry();
  if (weights) check(ctx, *weights, s.sinogram_shape(), "hessian_diagonal", "weights", "(views, rows, channels)");
  check(ctx, hessian, s.recon_shape(), "hessian_diagonal", "hessian", "(rows, cols, slices)");
  auto const plan = kernel::plan_grid(g.recon_rows, g.recon_cols, nullptr, hessian.stride(0), hessian.stride(1));
  [[maybe_unused]] auto const guard = ctx.instr.scope({operation_name<Geometry, "hessian_diagonal">, pairs(s, plan.pixels)});
  project(observe(ctx, hessian, "hessian", array_role::output), plan);
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
/// of slices in cone beam; temporary memory: one channel-major sinogram. The result is bitwise independent of the
/// number of threads. Source: separable footprints with box profiles (Balke et al. 2018; MBIRJAX), with full support.
template <execution_policy Exec, instrumentation_policy Instr, class Geometry>
void forward_project(context<Exec, Instr> const& ctx, scan<Geometry> const& s, view<float const, 3> recon,
                     view<float, 3> sinogram) {
  detail::forward_of_recon(ctx, s, recon, sinogram, [&](auto voxel_columns, auto const& plan) {
    detail::project(ctx, s, voxel_columns, plan, sinogram);
  });
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
  detail::back_to_recon(ctx, s, sinogram, recon, [&](auto voxel_columns, auto const& plan) {
    detail::project_back(ctx, s, sinogram, "sinogram", plan, 1, voxel_columns);
  });
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
  detail::forward_of_list(ctx, s, voxel_values, pixel_indices, sinogram, [&](auto voxel_columns, auto const& plan) {
    detail::project(ctx, s, voxel_columns, plan, sinogram);
  });
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
  detail::back_to_list(ctx, s, sinogram, pixel_indices, voxel_values, coeff_power,
                       [&](auto voxel_columns, auto const& plan) {
                         detail::project_back(ctx, s, sinogram, "sinogram", plan, coeff_power, voxel_columns);
                       });
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
  detail::hessian_on_grid(ctx, s, weights, hessian, [&](auto voxel_columns, auto const& plan) {
    if (weights) detail::project_back(ctx, s, *weights, "weights", plan, 2, voxel_columns);
    else detail::project_unweighted_hessian(ctx, s, plan, voxel_columns);
  });
}

}  // namespace mbirk
