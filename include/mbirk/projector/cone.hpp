// Cone-beam projector operations: check shapes, open a scope, lay out, launch. Nothing else.
#pragma once

#include <optional>

#include "mbirk/kernel/host/cone_back.hpp"
#include "mbirk/kernel/host/cone_forward.hpp"
#include "mbirk/projector/detail.hpp"

namespace mbirk {
namespace detail {

/// The part that all cone kernels share, and its place in memory.
template <class Context> class cone_setup {
  using B = typename Context::backend;

 public:
  cone_setup(Context const& ctx, cone_scan const& s, kernel::pixel_plan const& plan)
      : padded_(std::max<index_t>(1, ceil_div(s.geometry().slices, B::lanes)) * B::lanes),
        table_(kernel::make_elevations(s, padded_)),
        positions_(s.positions().begin(), s.positions().end()),
        pixels(ctx, plan),
        view{s.geometry(), pixels.rows, pixels.cols, observe_table(ctx, positions_, "view positions"), observe_table(ctx, table_.t, "elevations"),
             table_.largest.data(), table_.stride, padded_, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}} {}

 private:
  index_t padded_;
  kernel::elevation_table table_;
  std::vector<view_position> positions_;

 public:
  observed_plan<Context> pixels;
  kernel::cone_view<B> view;
};

/// One chunk of all rows: resampling needs a whole column.
template <class Context> kernel::chunked_shape cone_shape(cone_geometry const& g) {
  return kernel::make_chunks(g.views, g.channels, g.rows, Context::backend::lanes, std::max<index_t>(1, g.rows));
}

/// y = A x over planned pixels, into the caller's sinogram.
template <class Context, class Cylinders>
void cone_forward(Context const& ctx, cone_scan const& s, Cylinders cylinders, kernel::pixel_plan const& plan, view<float, 3> sinogram) {
  using B = typename Context::backend;
  auto const& g = s.geometry();
  auto const shape = cone_shape<Context>(g);
  // A task owns whole views; their number does not depend on the threads, so neither do the counts.
  index_t const views_per_task = std::clamp<index_t>(g.views / 8, 1, 16);
  temporary<float, Context> inside(ctx, "channel-major sinogram", shape.size());
  {
    [[maybe_unused]] auto const guard = ctx.instr.stage("project");
    cone_setup<Context> const setup(ctx, s, plan);
    kernel::cone_forward<B> kernel{setup.view, cylinders, observe(ctx, inside), setup.pixels.offsets, shape, plan.groups, views_per_task};
    kernel.plan_scratch();
    launch(ctx, ceil_div(g.views, views_per_task), kernel);
  }
  store_sinogram(ctx, inside, sinogram, shape);
}

template <int Power, bool Unit, class Context, class Sinogram, class Cylinders>
void cone_back(Context const& ctx, cone_scan const& s, Sinogram inside, kernel::chunked_shape const& shape, kernel::pixel_plan const& plan,
               Cylinders cylinders) {
  [[maybe_unused]] auto const guard = ctx.instr.stage("project");
  cone_setup<Context> const setup(ctx, s, plan);
  kernel::cone_back<typename Context::backend, Power, Unit> kernel{setup.view, inside, cylinders, setup.pixels.offsets, shape, plan.groups};
  kernel.plan_scratch();
  launch(ctx, static_cast<index_t>(plan.groups.size()), kernel);
}

/// x = A' y (or the elementwise square of A) over planned pixels, into the caller's cylinders.
template <class Context, class Cylinders>
void cone_back(Context const& ctx, cone_scan const& s, view<float const, 3> sinogram, char const* name, kernel::pixel_plan const& plan,
               int coeff_power, Cylinders cylinders) {
  auto const shape = cone_shape<Context>(s.geometry());
  temporary<float, Context> inside(ctx, "channel-major sinogram", shape.size());
  load_sinogram(ctx, sinogram, inside, shape, name);
  if (coeff_power == 2) cone_back<2, false>(ctx, s, observe(ctx, inside), shape, plan, cylinders);
  else cone_back<1, false>(ctx, s, observe(ctx, inside), shape, plan, cylinders);
}

inline index_t pairs(cone_scan const& s, index_t pixels) { return s.geometry().views * pixels * s.geometry().slices; }

}  // namespace detail

/// Forward projection y = A x over the pixels inside the mask; what lies outside is ignored, even if it is not finite.
///
/// @param ctx       where it runs and what is noticed; returns when done (host).
/// @param recon     (rows, cols, slices), attenuation per ALU.
/// @param sinogram  (views, rows, channels), line integrals, dimensionless; overwritten; may not alias recon.
/// @throws shape_error before anything runs, allocation_error when the temporary does not fit.
/// Cost: about 18 vector operations per view, pixel and pack of slices; temporary: one channel-major sinogram. The same bits for any number of
/// threads. Source: separable footprints with box profiles (Balke et al. 2018), full support, so that back_project is the exact transpose.
template <execution_policy Exec, instrumentation_policy Instr>
void forward_project(context<Exec, Instr> const& ctx, cone_scan const& s, view<float const, 3> recon, view<float, 3> sinogram) {
  detail::check(ctx, recon, s.recon_shape(), "forward_project", "recon", "(rows, cols, slices)");
  detail::check(ctx, sinogram, s.sinogram_shape(), "forward_project", "sinogram", "(views, rows, channels)");
  auto const plan = kernel::plan_grid(recon.extent(0), recon.extent(1), s.mask().data(), recon.stride(0), recon.stride(1));
  [[maybe_unused]] auto const guard = ctx.instr.scope({"cone_forward_project", detail::pairs(s, plan.pixels)});
  detail::cone_forward(ctx, s, observe(ctx, recon, "recon", array_role::argument), plan, sinogram);
}

/// Back projection x = A' y, the exact transpose of forward_project: computed inside the mask, 0 elsewhere.
///
/// @param sinogram  (views, rows, channels).
/// @param recon     (rows, cols, slices); overwritten; may not alias sinogram.
/// @throws shape_error before anything runs, allocation_error when the temporary does not fit.
/// Cost: as forward_project. The same bits for any number of threads.
template <execution_policy Exec, instrumentation_policy Instr>
void back_project(context<Exec, Instr> const& ctx, cone_scan const& s, view<float const, 3> sinogram, view<float, 3> recon) {
  detail::check(ctx, sinogram, s.sinogram_shape(), "back_project", "sinogram", "(views, rows, channels)");
  detail::check(ctx, recon, s.recon_shape(), "back_project", "recon", "(rows, cols, slices)");
  auto const plan = kernel::plan_grid(recon.extent(0), recon.extent(1), s.mask().data(), recon.stride(0), recon.stride(1));
  [[maybe_unused]] auto const guard = ctx.instr.scope({"cone_back_project", detail::pairs(s, plan.pixels)});
  detail::zero_outside(ctx, s.mask(), recon);
  detail::cone_back(ctx, s, sinogram, "sinogram", plan, 1, observe(ctx, recon, "recon", array_role::output));
}

/// Forward projection of listed pixels, inside the mask or not, in any order; a pixel listed twice contributes twice.
///
/// @param voxel_values   (pixels, slices).
/// @param pixel_indices  (pixels), i * cols + j.
/// @param sinogram       (views, rows, channels); overwritten; zero when the list is empty.
/// @throws shape_error, index_error before anything runs, allocation_error when the temporary does not fit.
template <execution_policy Exec, instrumentation_policy Instr>
void sparse_forward_project(context<Exec, Instr> const& ctx, cone_scan const& s, view<float const, 2> voxel_values,
                            view<std::int32_t const, 1> pixel_indices, view<float, 3> sinogram) {
  auto const& g = s.geometry();
  detail::check(ctx, voxel_values, {pixel_indices.extent(0), g.slices}, "sparse_forward_project", "voxel_values", "(pixels, slices)");
  detail::check(ctx, sinogram, s.sinogram_shape(), "sparse_forward_project", "sinogram", "(views, rows, channels)");
  auto const pixels = detail::check_pixels(pixel_indices, g.recon_rows * g.recon_cols, "sparse_forward_project");
  auto const plan = kernel::plan_list(pixels, g.recon_rows, g.recon_cols, voxel_values.stride(0));
  [[maybe_unused]] auto const guard = ctx.instr.scope({"cone_sparse_forward_project", detail::pairs(s, plan.pixels)});
  detail::cone_forward(ctx, s, observe(ctx, voxel_values, "voxel_values", array_role::argument), plan, sinogram);
}

/// Back projection at listed pixels with the weights of A to the power 1 or 2.
///
/// @param sinogram       (views, rows, channels).
/// @param pixel_indices  (pixels), i * cols + j, in any order.
/// @param voxel_values   (pixels, slices); overwritten.
/// @param coeff_power    1 for the transpose, 2 for the Hessian's weights.
/// @throws shape_error, index_error, parameter_error before anything runs, allocation_error when the temporary does not fit.
template <execution_policy Exec, instrumentation_policy Instr>
void sparse_back_project(context<Exec, Instr> const& ctx, cone_scan const& s, view<float const, 3> sinogram,
                         view<std::int32_t const, 1> pixel_indices, view<float, 2> voxel_values, int coeff_power = 1) {
  auto const& g = s.geometry();
  detail::check_power(coeff_power);
  detail::check(ctx, sinogram, s.sinogram_shape(), "sparse_back_project", "sinogram", "(views, rows, channels)");
  detail::check(ctx, voxel_values, {pixel_indices.extent(0), g.slices}, "sparse_back_project", "voxel_values", "(pixels, slices)");
  auto const pixels = detail::check_pixels(pixel_indices, g.recon_rows * g.recon_cols, "sparse_back_project");
  auto const plan = kernel::plan_list(pixels, g.recon_rows, g.recon_cols, voxel_values.stride(0));
  [[maybe_unused]] auto const guard = ctx.instr.scope({"cone_sparse_back_project", detail::pairs(s, plan.pixels)});
  detail::cone_back(ctx, s, sinogram, "sinogram", plan, coeff_power, observe(ctx, voxel_values, "voxel_values", array_role::output));
}

/// Diagonal of A' diag(w) A at all rows x cols pixels; the mask is not applied. Without weights w = 1 and no sinogram is read.
///
/// @param weights  (views, rows, channels), or nothing.
/// @param hessian  (rows, cols, slices); overwritten.
/// @throws shape_error before anything runs, allocation_error when the temporary does not fit.
/// Cost: with weights as back_project; without, the row weights only.
template <execution_policy Exec, instrumentation_policy Instr>
void hessian_diagonal(context<Exec, Instr> const& ctx, cone_scan const& s, std::optional<view<float const, 3>> weights, view<float, 3> hessian) {
  using B = typename context<Exec, Instr>::backend;
  auto const& g = s.geometry();
  if (weights) detail::check(ctx, *weights, s.sinogram_shape(), "hessian_diagonal", "weights", "(views, rows, channels)");
  detail::check(ctx, hessian, s.recon_shape(), "hessian_diagonal", "hessian", "(rows, cols, slices)");
  auto const plan = kernel::plan_grid(g.recon_rows, g.recon_cols, nullptr, hessian.stride(0), hessian.stride(1));
  [[maybe_unused]] auto const guard = ctx.instr.scope({"cone_hessian_diagonal", detail::pairs(s, plan.pixels)});
  auto const out = observe(ctx, hessian, "hessian", array_role::output);
  if (weights) return detail::cone_back(ctx, s, *weights, "weights", plan, 2, out);
  detail::cone_back<2, true>(ctx, s, typename B::template cursor<float const>{}, detail::cone_shape<context<Exec, Instr>>(g), plan, out);
}

}  // namespace mbirk
