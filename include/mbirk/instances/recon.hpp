// Iterative reconstruction, as mbirk::compiled holds it.
#pragma once

#include "mbirk/instances/declare.hpp"
#include "mbirk/kernel/shared/pixel_band.hpp"
#include "mbirk/projector/all.hpp"
#include "mbirk/recon/recon.hpp"

#define MBIRK_RECON_KERNELS(X, B, S)                                            \
  X(kernel::no_scratch, kernel::absolute_sum<B>)                                \
  X(kernel::no_scratch, kernel::axpy_projection<B>)                             \
  X(kernel::no_scratch, kernel::copy_values<B>)                                 \
  X(kernel::no_scratch, kernel::edge_support<B>)                                \
  X(kernel::no_scratch, kernel::fill_values<B>)                                 \
  X(kernel::no_scratch, kernel::make_error<B, false>)                           \
  X(kernel::no_scratch, kernel::make_error<B, true>)                            \
  X(kernel::no_scratch, kernel::projection_products<B, false>)                  \
  X(kernel::no_scratch, kernel::projection_products<B, true>)                   \
  X(kernel::no_scratch, kernel::reduce_slice_sums<B>)                           \
  X(kernel::no_scratch, kernel::scale_values<B>)                                \
  X(kernel::no_scratch, kernel::sinogram_sum<B>)                                \
  X(kernel::no_scratch, kernel::support_sums<B, false>)                         \
  X(kernel::no_scratch, kernel::support_sums<B, true>)                          \
  X(kernel::no_scratch, kernel::vcd_clip_direction<B>)                          \
  X(kernel::no_scratch, kernel::vcd_damped_direction<B>)                        \
  X(S, kernel::vcd_damped_gradient<B, kernel::proximal_cylinder<B>>)            \
  X(S, kernel::vcd_damped_gradient<B, kernel::qggmrf_cylinder<B>>)              \
  X(kernel::no_scratch, kernel::vcd_direction<B, kernel::proximal_cylinder<B>>) \
  X(kernel::no_scratch, kernel::vcd_direction<B, kernel::qggmrf_cylinder<B>>)   \
  X(kernel::no_scratch, kernel::vcd_slice_means<B>)                             \
  X(S, kernel::vcd_update<B>)                                                   \
  X(kernel::no_scratch, kernel::weighted_squares<B, false>)                     \
  X(kernel::no_scratch, kernel::weighted_squares<B, true>)

#define MBIRK_RECON_HOST_KERNELS(X, B, S)                                                  \
  X(S, kernel::cone_forward<B, kernel::each_view_epilogue<kernel::squared_norm_epilogue<B, false, true>>>) \
  X(S, kernel::cone_forward<B, kernel::each_view_epilogue<kernel::squared_norm_epilogue<B, true, true>>>)  \
  X(S, kernel::cone_forward<B, kernel::squared_norm_epilogue<B, false, true>>)             \
  X(S, kernel::cone_forward<B, kernel::squared_norm_epilogue<B, true, true>>)              \
  X(S, kernel::cone_fused_update_backproject<B>)                                           \
  X(S, kernel::general_forward<B, kernel::squared_norm_epilogue<B, false, true>>)          \
  X(S, kernel::general_forward<B, kernel::squared_norm_epilogue<B, true, true>>)           \
  X(S, kernel::multiaxis_forward<B, kernel::squared_norm_epilogue<B, false, true>>)        \
  X(S, kernel::multiaxis_forward<B, kernel::squared_norm_epilogue<B, true, true>>)         \
  X(kernel::no_scratch, kernel::pack_columns<B>)                                           \
  X(S, kernel::parallel_forward<B, kernel::unit_norm_epilogue<B, false, true>>)            \
  X(S, kernel::parallel_forward<B, kernel::unit_norm_epilogue<B, true, true>>)             \
  X(S, kernel::parallel_fused_update_backproject<B, false>)                                \
  X(S, kernel::parallel_fused_update_backproject<B, true>)                                 \
  X(S, kernel::parallel_project_subset<B, kernel::axpy_epilogue<B, false>>)                \
  X(S, kernel::parallel_project_subset<B, kernel::axpy_epilogue<B, true>>)                 \
  X(S, kernel::parallel_project_subset<B, kernel::unit_norm_epilogue<B, false, false>>)    \
  X(S, kernel::parallel_project_subset<B, kernel::unit_norm_epilogue<B, true, false>>)     \
  X(kernel::no_scratch, kernel::reduce_partials<B>)                                        \
  X(kernel::no_scratch, kernel::absolute_unit_sums<B>)                                     \
  X(kernel::no_scratch, kernel::sinogram_unit_sums<B, kernel::data_product<B, false>>)     \
  X(kernel::no_scratch, kernel::sinogram_unit_sums<B, kernel::data_product<B, true>>)      \
  X(kernel::no_scratch, kernel::sinogram_unit_sums<B, kernel::error_square<B, false>>)     \
  X(kernel::no_scratch, kernel::sinogram_unit_sums<B, kernel::error_square<B, true>>)      \
  X(kernel::no_scratch, kernel::sinogram_unit_sums<B, kernel::norm_product<B, false>>)     \
  X(kernel::no_scratch, kernel::sinogram_unit_sums<B, kernel::norm_product<B, true>>)      \
  X(kernel::no_scratch, kernel::sinogram_unit_sums<B, kernel::sample<B>>)                  \
  X(S, kernel::vcd_unit_direction<B, kernel::proximal_cylinder<B>>)                        \
  X(S, kernel::vcd_unit_direction<B, kernel::qggmrf_cylinder<B>>)                          \
  X(S, kernel::vcd_unit_direction<B, kernel::slab_prior<B, kernel::qggmrf_cylinder<B>>>)   \
  X(kernel::no_scratch, kernel::copy_slab_columns<B>)                                      \
  X(kernel::no_scratch, kernel::vcd_unit_update<B>)

#define MBIRK_RECON_DEVICE_KERNELS(X, B, S)                                                                            \
  X(kernel::on_warps<kernel::absolute_unit_sums<B>, kernel::no_scratch>)                                               \
  X(kernel::on_warps<kernel::add_columns<B>, kernel::no_scratch>)                                                      \
  X(kernel::on_warps<kernel::apply_epilogue<B, kernel::squared_norm_epilogue<B, false, true>>, kernel::no_scratch>)    \
  X(kernel::on_warps<kernel::apply_epilogue<B, kernel::squared_norm_epilogue<B, true, true>>, kernel::no_scratch>)     \
  X(kernel::on_warps<kernel::copy_slab_columns<B>, kernel::no_scratch>)                                                \
  X(kernel::device_reduce<B, kernel::denoise_line_search>)                                                             \
  X(kernel::device_reduce<B, kernel::plain_sums<1>>)                                                                   \
  X(kernel::device_reduce<B, kernel::plain_sums<2>>)                                                                   \
  X(kernel::device_reduce<B, kernel::plain_sums<3>>)                                                                   \
  X(kernel::device_reduce<B, kernel::vcd_line_search>)                                                                 \
  X(kernel::on_warps<kernel::fold_slice_sums<B>, kernel::no_scratch>)                                                  \
  X(kernel::on_warps<kernel::move_columns<B>, kernel::no_scratch>)                                                     \
  X(kernel::on_warps<kernel::store_columns<B>, kernel::no_scratch>)                                                    \
  X(kernel::on_warps<kernel::take_columns<B>, kernel::no_scratch>)                                                     \
  X(kernel::on_warps<kernel::vcd_damped_gradient<B, kernel::band_prior<B, kernel::qggmrf_cylinder<B>>>, S>)            \
  X(kernel::on_warps<kernel::vcd_direction<B, kernel::band_prior<B, kernel::qggmrf_cylinder<B>>>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::vcd_direction<B, kernel::slab_prior<B, kernel::qggmrf_cylinder<B>>>, kernel::no_scratch>)

#define MBIRK_RECON_OF(X, C, G)                                                                                \
  X(C, G, iterative_recon, recon,                                                                              \
    (C const& c, scan<G> const& s, view<float const, 3> sinogram, std::optional<view<float const, 3>> weights, \
     view<float, 3> image, recon_options const& options),                                                      \
    (c, s, sinogram, weights, image, options), recon_log)                                                      \
  X(C, G, proximal_map, prox_map,                                                                              \
    (C const& c, scan<G> const& s, view<float const, 3> prox_input, view<float const, 3> sinogram,             \
     std::optional<view<float const, 3>> weights, view<float, 3> image, recon_options const& options),         \
    (c, s, prox_input, sinogram, weights, image, options), recon_log)                                          \
  X(C, G, regularize, auto_regularization,                                                                     \
    (C const& c, scan<G> const& s, view<float const, 3> sinogram, std::optional<view<float const, 3>> weights, \
     double snr_db, double sharpness),                                                                         \
    (c, s, sinogram, weights, snr_db, sharpness), regularization)
#define MBIRK_RECON_OPERATIONS(X, C) MBIRK_EACH_GEOMETRY(MBIRK_RECON_OF, X, C)

namespace mbirk {

MBIRK_RECON_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_RECON_HOST_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_RECON_OPERATIONS(MBIRK_DECLARE_OPERATION, instances::none_context)

}  // namespace mbirk
