// The projectors, as mbirk::compiled holds them.
#pragma once

#include "mbirk/instances/declare.hpp"
#include "mbirk/kernel/shared/scale_slices.hpp"
// Not projector/all.hpp, which may be the file that leads here.
#include "mbirk/projector/cone.hpp"
#include "mbirk/projector/parallel.hpp"

#define MBIRK_PROJECTOR_KERNELS(X, B, S)               \
  X(kernel::no_scratch, kernel::from_channel_major<B>) \
  X(S, kernel::parallel_unweighted_hessian<B>)         \
  X(kernel::no_scratch, kernel::scale_slices<B>)       \
  X(kernel::no_scratch, kernel::to_channel_major<B>)   \
  X(kernel::no_scratch, kernel::zero_columns<B>)

#define MBIRK_PROJECTOR_HOST_KERNELS(X, B, S)              \
  X(S, kernel::cone_back<B, 1, false>)                     \
  X(S, kernel::cone_back<B, 2, false>)                     \
  X(S, kernel::cone_back<B, 2, true>)                      \
  X(S, kernel::cone_forward<B, kernel::store_epilogue<B>>) \
  X(S, kernel::parallel_back<B>)                           \
  X(S, kernel::parallel_forward<B, kernel::store_epilogue<B>>)

#define MBIRK_PROJECTOR_DEVICE_KERNELS(X, B)                          \
  X(kernel::cone_block_back<B, 1, false>)                             \
  X(kernel::cone_block_back<B, 2, false>)                             \
  X(kernel::cone_block_back<B, 2, true>)                              \
  X(kernel::on_warps<kernel::cone_gather<B>, kernel::no_scratch>)     \
  X(kernel::on_warps<kernel::parallel_gather<B>, kernel::no_scratch>) \
  X(kernel::parallel_block_back<B>)

#define MBIRK_PROJECTORS_OF(E, C, G)                                                                                \
  E template class projection_plan<C, G>;                                                                           \
  E template void forward_project(C const&, projection_plan<C, G> const&, view<float const, 3>, view<float, 3>);    \
  E template void back_project(C const&, projection_plan<C, G> const&, view<float const, 3>, view<float, 3>);       \
  E template void sparse_forward_project(C const&, projection_plan<C, G> const&, view<float const, 2>,              \
                                         view<float, 3>);                                                           \
  E template void sparse_back_project(C const&, projection_plan<C, G> const&, view<float const, 3>, view<float, 2>, \
                                      int);                                                                         \
  E template void forward_project(C const&, scan<G> const&, view<float const, 3>, view<float, 3>);                  \
  E template void back_project(C const&, scan<G> const&, view<float const, 3>, view<float, 3>);                     \
  E template void sparse_forward_project(C const&, scan<G> const&, view<float const, 2>,                            \
                                         view<std::int32_t const, 1>, view<float, 3>);                              \
  E template void sparse_back_project(C const&, scan<G> const&, view<float const, 3>,                               \
                                      view<std::int32_t const, 1>, view<float, 2>, int);                            \
  E template void hessian_diagonal(C const&, scan<G> const&, std::optional<view<float const, 3>>, view<float, 3>);
#define MBIRK_PROJECTOR_OPERATIONS(E, C) MBIRK_EACH_GEOMETRY(MBIRK_PROJECTORS_OF, E, C)

#define MBIRK_SCAN_OF(E, G) E template scan<G>::scan(G::parameters const&);
#define MBIRK_SCANS(E) MBIRK_EACH_GEOMETRY(MBIRK_SCAN_OF, E)

namespace mbirk {

MBIRK_SCANS(extern)
MBIRK_PROJECTOR_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_PROJECTOR_HOST_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_PROJECTOR_OPERATIONS(extern, instances::none_context)

}  // namespace mbirk
