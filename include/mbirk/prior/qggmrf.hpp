// Operations of the qGGMRF prior: gradient and curvature at listed pixels, and the loss. definition/qggmrf.hpp has the
// formulas.
#pragma once

#include "mbirk/kernel/shared/qggmrf.hpp"
#include "mbirk/launch.hpp"
#include "mbirk/operation.hpp"

namespace mbirk {

/// Gradient and curvature of the qGGMRF prior at the listed pixels: at every voxel s, with sums over its six
/// neighbours r,
///     g_s = sum of b kappa(x_s - x_r) (x_s - x_r),   h_s = sum of b kappa(x_s - x_r),   kappa(d) = rho'(d) / d,
///     rho(d) = |d|^p / (p sigma_x^p) u / (1 + u),   u = (|d| / (T sigma_x))^(q - p),   |d| not below 2^-23 T sigma_x,
/// and b = nbr_wts of the axis / (2 sum of nbr_wts). At the border the voxel itself replaces a missing neighbour and
/// adds b kappa(0) to h. h bounds the curvature of rho from above on the way to the minimum, so -g/h is a descent step.
///
/// @param ctx            execution and instrumentation. On the host the call returns when the result is complete; on a
///                       device the work is queued and the call returns before it is done.
/// @param recon          (rows, cols, slices), x; all its voxels act as neighbours.
/// @param pixel_indices  (pixels), i * cols + j, in any order, repeated or not; in host memory under every policy.
/// @param params         sigma_x in the unit of recon.
/// @param gradient       (pixels, slices), 1 / unit of recon; overwritten; may not alias recon.
/// @param hessian        (pixels, slices), 1 / unit of recon squared; overwritten; may not alias recon.
/// @throws parameter_error, shape_error, index_error before anything runs.
/// Cost: per voxel five pairs (those along the slices are shared), each with a log2, an exp2 (two for p < 2), a
/// division and about 20 other operations. The result is bitwise independent of the number of threads. Source: Bouman,
/// Foundations of Computational Imaging (2022), chapter 8; MBIRJAX.
template <execution_policy Exec, instrumentation_policy Instr>
void qggmrf_gradient_and_hessian_at_indices(context<Exec, Instr> const& ctx, view<float const, 3> recon,
                                            view<std::int32_t const, 1> pixel_indices, qggmrf_parameters const& params,
                                            view<float, 2> gradient, view<float, 2> hessian) {
  using B = typename context<Exec, Instr>::backend;
  constexpr auto name = "qggmrf_gradient_and_hessian_at_indices";
  require_valid(params, name);
  detail::check(ctx, recon, recon.extents(), name, "recon", "(rows, cols, slices)");
  auto const pixels = detail::check_pixels(pixel_indices, recon.extent(0) * recon.extent(1), name);
  index_t const count = static_cast<index_t>(pixels.size()), slices = recon.extent(2);
  detail::check(ctx, gradient, {count, slices}, name, "gradient", "(pixels, slices)");
  detail::check(ctx, hessian, {count, slices}, name, "hessian", "(pixels, slices)");
  [[maybe_unused]] auto const guard = ctx.instr.scope({name, count * slices});
  device_table const indices(ctx, pixel_indices.data(), count, "pixel_indices");
  kernel::qggmrf_at_pixels<B> kernel{
      {observe(ctx, recon, "recon", array_role::argument), recon.extent(0), recon.extent(1), slices, recon.stride(0),
       recon.stride(1), kernel::qggmrf_constants(params)},
      observe(ctx, indices.data(), {"pixel_indices", array_role::argument, count}),
      count,
      observe(ctx, gradient, "gradient", array_role::output),
      observe(ctx, hessian, "hessian", array_role::output),
      gradient.stride(0),
      hessian.stride(0)};
  launch(ctx, ceil_div(count, kernel::prior_batch), kernel);
}

/// The qGGMRF loss h(x) = sum over pairs of neighbours of b rho(x_s - x_r), with rho and b as above; its gradient is g.
///
/// @param ctx    execution and instrumentation. The call returns when the result is complete; on a device it waits for
///               it.
/// @param recon  (rows, cols, slices), x.
/// @return h(x), dimensionless; 0 for an image without pairs, and under a policy without data.
/// @throws parameter_error, shape_error before anything runs.
/// Cost: three pairs per voxel. Pairs are computed in float and summed in double. The result is bitwise independent of
/// the number of threads.
template <execution_policy Exec, instrumentation_policy Instr>
double qggmrf_loss(context<Exec, Instr> const& ctx, view<float const, 3> recon, qggmrf_parameters const& params) {
  using Context = context<Exec, Instr>;
  require_valid(params, "qggmrf_loss");
  detail::check(ctx, recon, recon.extents(), "qggmrf_loss", "recon", "(rows, cols, slices)");
  [[maybe_unused]] auto const guard = ctx.instr.scope({"qggmrf_loss", recon.size()});
  index_t const tasks = ceil_div(recon.extent(0) * recon.extent(1), kernel::prior_batch);
  temporary<double, Context> partial(ctx, "partial sums", tasks);
  kernel::qggmrf_loss_sum<typename Context::backend> kernel{};
  kernel.recon = observe(ctx, recon, "recon", array_role::argument);
  kernel.partial = observe(ctx, partial);
  kernel.row_count = recon.extent(0);
  kernel.col_count = recon.extent(1);
  kernel.slices = recon.extent(2);
  kernel.row_stride = recon.stride(0);
  kernel.col_stride = recon.stride(1);
  kernel.set(params);
  launch(ctx, tasks, kernel);
  return reduce(ctx, partial);
}

}  // namespace mbirk
