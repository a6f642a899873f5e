// The projectors, as mbirk::compiled holds them.
#pragma once

#include "mbirk/instances/declare.hpp"
#include "mbirk/kernel/shared/scale_slices.hpp"
// Not projector/all.hpp, which may be the file that includes this one.
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/general.hpp"
#include "mbirk/projector/multiaxis.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/projector/translation.hpp"

#define MBIRK_PROJECTOR_KERNELS(X, B, S)               \
  X(kernel::no_scratch, kernel::from_channel_major<B>) \
  X(S, kernel::parallel_unweighted_hessian<B>)         \
  X(kernel::no_scratch, kernel::scale_slices<B>)       \
  X(kernel::no_scratch, kernel::to_channel_major<B>)   \
  X(kernel::no_scratch, kernel::zero_columns<B>)

#define MBIRK_PROJECTOR_HOST_KERNELS(X, B, S)                   \
  X(S, kernel::cone_back<B, 1, false>)                          \
  X(S, kernel::cone_back<B, 2, false>)                          \
  X(S, kernel::cone_back<B, 2, true>)                           \
  X(S, kernel::cone_forward<B, kernel::store_epilogue<B>>)      \
  X(S, kernel::general_back<B, 1, false>)                       \
  X(S, kernel::general_back<B, 2, false>)                       \
  X(S, kernel::general_back<B, 2, true>)                        \
  X(S, kernel::general_forward<B, kernel::store_epilogue<B>>)   \
  X(S, kernel::multiaxis_back<B, 1, false>)                     \
  X(S, kernel::multiaxis_back<B, 2, false>)                     \
  X(S, kernel::multiaxis_back<B, 2, true>)                      \
  X(S, kernel::multiaxis_forward<B, kernel::store_epilogue<B>>) \
  X(S, kernel::parallel_back<B>)                                \
  X(S, kernel::parallel_forward<B, kernel::store_epilogue<B>>)

#define MBIRK_PROJECTOR_DEVICE_KERNELS(X, B)                           \
  X(kernel::cone_block_back<B, 1, false>)                              \
  X(kernel::cone_block_back<B, 2, false>)                              \
  X(kernel::cone_block_back<B, 2, true>)                               \
  X(kernel::block_sort<B, kernel::cone_channel_order<B>, 1>)           \
  X(kernel::block_sort<B, kernel::cone_channel_order<B>, 4>)           \
  X(kernel::block_sort<B, kernel::parallel_channel_order<B>, 1>)       \
  X(kernel::block_sort<B, kernel::parallel_channel_order<B>, 4>)       \
  X(kernel::cone_gather<B>)                                            \
  X(kernel::cone_list_gather<B>)                                       \
  X(kernel::cone_list_gather<B, kernel::gather_norm<B, false, true>>)  \
  X(kernel::cone_list_gather<B, kernel::gather_norm<B, true, true>>)   \
  X(kernel::on_warps<kernel::general_back_gather<B, 1, false>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::general_back_gather<B, 2, false>, kernel::no_scratch>) \
  X(kernel::on_warps<kernel::general_back_gather<B, 2, true>, kernel::no_scratch>)  \
  X(kernel::on_warps<kernel::general_gather<B>, kernel::no_scratch>)   \
  X(kernel::multiaxis_block_back<B, 1, false>)                         \
  X(kernel::multiaxis_block_back<B, 2, false>)                         \
  X(kernel::multiaxis_block_back<B, 2, true>)                          \
  X(kernel::on_warps<kernel::multiaxis_gather<B>, kernel::no_scratch>) \
  X(kernel::parallel_gather<B>)                                        \
  X(kernel::parallel_list_gather<B>)                                   \
  X(kernel::parallel_list_gather<B, kernel::gather_norm<B, false, false>>) \
  X(kernel::parallel_list_gather<B, kernel::gather_norm<B, true, false>>)  \
  X(kernel::parallel_list_gather<B, kernel::gather_subtract<B, false>>)    \
  X(kernel::parallel_list_gather<B, kernel::gather_subtract<B, true>>)     \
  X(kernel::on_warps<kernel::sum_runs<B>, kernel::no_scratch>)         \
  X(kernel::parallel_block_back<B>)                                    \
  X(kernel::parallel_list_back<B, 2>)                                  \
  X(kernel::parallel_list_back<B, 4>)                                  \
  X(kernel::parallel_tile_back<B>)                                     \
  X(kernel::parallel_view_back<B>)

#define MBIRK_PROJECTORS_OF(X, C, G)                                                                             \
  X(C, G, plan_of_mask, detail::make_plan,                                                                       \
    (C const& c, scan<G> const& s, std::array<index_t, 3> const& strides),                                       \
    (c, s, strides), detail::plan_pointer<C, G>)                                                                 \
  X(C, G, plan_of_list, detail::make_plan,                                                                       \
    (C const& c, scan<G> const& s, std::span<std::int32_t const> pixels, std::array<index_t, 2> const& strides), \
    (c, s, pixels, strides), detail::plan_pointer<C, G>)                                                         \
  X(C, G, planned_forward, forward_project,                                                                      \
    (C const& c, projection_plan<C, G> const& plan, view<float const, 3> recon, view<float, 3> sinogram),        \
    (c, plan, recon, sinogram), void)                                                                            \
  X(C, G, planned_back, back_project,                                                                            \
    (C const& c, projection_plan<C, G> const& plan, view<float const, 3> sinogram, view<float, 3> recon),        \
    (c, plan, sinogram, recon), void)                                                                            \
  X(C, G, planned_sparse_forward, sparse_forward_project,                                                        \
    (C const& c, projection_plan<C, G> const& plan, view<float const, 2> voxel_values, view<float, 3> sinogram), \
    (c, plan, voxel_values, sinogram), void)                                                                     \
  X(C, G, planned_sparse_back, sparse_back_project,                                                              \
    (C const& c, projection_plan<C, G> const& plan, view<float const, 3> sinogram, view<float, 2> voxel_values,  \
     int coeff_power),                                                                                           \
    (c, plan, sinogram, voxel_values, coeff_power), void)                                                        \
  X(C, G, forward, forward_project,                                                                              \
    (C const& c, scan<G> const& s, view<float const, 3> recon, view<float, 3> sinogram),                         \
    (c, s, recon, sinogram), void)                                                                               \
  X(C, G, back, back_project,                                                                                    \
    (C const& c, scan<G> const& s, view<float const, 3> sinogram, view<float, 3> recon),                         \
    (c, s, sinogram, recon), void)                                                                               \
  X(C, G, sparse_forward, sparse_forward_project,                                                                \
    (C const& c, scan<G> const& s, view<float const, 2> voxel_values, view<std::int32_t const, 1> pixels,        \
     view<float, 3> sinogram),                                                                                   \
    (c, s, voxel_values, pixels, sinogram), void)                                                                \
  X(C, G, sparse_back, sparse_back_project,                                                                      \
    (C const& c, scan<G> const& s, view<float const, 3> sinogram, view<std::int32_t const, 1> pixels,            \
     view<float, 2> voxel_values, int coeff_power),                                                              \
    (c, s, sinogram, pixels, voxel_values, coeff_power), void)                                                   \
  X(C, G, hessian, hessian_diagonal,                                                                             \
    (C const& c, scan<G> const& s, std::optional<view<float const, 3>> weights, view<float, 3> diagonal),        \
    (c, s, weights, diagonal), void)
#define MBIRK_PROJECTOR_OPERATIONS(X, C) MBIRK_EACH_GEOMETRY(MBIRK_PROJECTORS_OF, X, C)

#define MBIRK_SCAN_OF(E, G) E template scan<G>::scan(G::parameters const&);
#define MBIRK_SCANS(E) MBIRK_EACH_GEOMETRY(MBIRK_SCAN_OF, E)

namespace mbirk {

MBIRK_SCANS(extern)
MBIRK_PROJECTOR_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_PROJECTOR_HOST_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_PROJECTOR_OPERATIONS(MBIRK_DECLARE_OPERATION, instances::none_context)

}  // namespace mbirk
