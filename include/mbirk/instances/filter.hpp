// Kernels of the ramp filter that mbirk::compiled holds.
#pragma once

#include "mbirk/instances/declare.hpp"
#include "mbirk/recon/direct_recon.hpp"
#include "mbirk/projector/parallel.hpp"
#include "mbirk/projector/cone.hpp"
#include "mbirk/filter/direct_filter.hpp"

#define MBIRK_FILTER_KERNELS(X, B, S) \
  X(S, kernel::ramp_filter<B, kernel::sinogram_channels<B::template cursor<float const>>, kernel::sinogram_channels<B::template cursor<float>>>) \
  X(S, kernel::ramp_filter<B, kernel::sinogram_rows<B::template cursor<float const>>, kernel::sinogram_channels<B::template cursor<float>>>) \
  X(S, kernel::ramp_filter<B, kernel::sinogram_rows<B::template cursor<float const>>, kernel::sinogram_rows<B::template cursor<float>>>) \
  X(S, kernel::ramp_fourier<B, kernel::sinogram_channels<B::template cursor<float const>>, kernel::sinogram_channels<B::template cursor<float>>>) \
  X(S, kernel::ramp_fourier<B, kernel::sinogram_rows<B::template cursor<float const>>, kernel::sinogram_channels<B::template cursor<float>>>) \
  X(S, kernel::ramp_fourier<B, kernel::sinogram_rows<B::template cursor<float const>>, kernel::sinogram_rows<B::template cursor<float>>>) \
  X(kernel::no_scratch, kernel::ramp_weights<B>)

#define MBIRK_FILTER_OPERATIONS(E, C, G) \
  E template void detail::direct_filter_as(C const&, scan<G> const&, view<float const, 3>, view<float, 3>, filter_options const&, char const*, char const*); \
  E template void detail::direct_recon_as(C const&, scan<G> const&, view<float const, 3>, view<float, 3>, filter_options const&, std::vector<std::string>*, char const*, char const*);

namespace mbirk {

MBIRK_FILTER_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)

MBIRK_FILTER_OPERATIONS(extern, instances::none_context, parallel_geometry)
MBIRK_FILTER_OPERATIONS(extern, instances::none_context, cone_geometry)

}  // namespace mbirk
