// The ramp filter, as mbirk::compiled holds it.
#pragma once

#include "mbirk/filter/direct_filter.hpp"
#include "mbirk/instances/declare.hpp"

#define MBIRK_RAMP_KERNEL(X, B, S, Kernel, From, To) \
  X(S, kernel::Kernel<B, kernel::From<B::template cursor<float const>>, kernel::To<B::template cursor<float>>>)
#define MBIRK_FILTER_KERNELS(X, B, S)                                            \
  MBIRK_RAMP_KERNEL(X, B, S, ramp_filter, sinogram_channels, sinogram_channels)  \
  MBIRK_RAMP_KERNEL(X, B, S, ramp_filter, sinogram_rows, sinogram_channels)      \
  MBIRK_RAMP_KERNEL(X, B, S, ramp_filter, sinogram_rows, sinogram_rows)          \
  MBIRK_RAMP_KERNEL(X, B, S, ramp_fourier, sinogram_channels, sinogram_channels) \
  MBIRK_RAMP_KERNEL(X, B, S, ramp_fourier, sinogram_rows, sinogram_channels)     \
  MBIRK_RAMP_KERNEL(X, B, S, ramp_fourier, sinogram_rows, sinogram_rows)         \
  X(kernel::no_scratch, kernel::ramp_weights<B>)
#define MBIRK_RAMP_DEVICE_KERNEL(X, B, From, To) \
  X(kernel::ramp_block_fourier<B, kernel::From<B::template cursor<float const>>, kernel::To<B::template cursor<float>>>)
#define MBIRK_FILTER_DEVICE_KERNELS(X, B)                              \
  MBIRK_RAMP_DEVICE_KERNEL(X, B, sinogram_channels, sinogram_channels) \
  MBIRK_RAMP_DEVICE_KERNEL(X, B, sinogram_rows, sinogram_channels)     \
  MBIRK_RAMP_DEVICE_KERNEL(X, B, sinogram_rows, sinogram_rows)

#define MBIRK_FILTER_OF(X, C, G)                                                           \
  X(C, G, direct_filter, detail::direct_filter_as,                                         \
    (C const& c, scan<G> const& s, view<float const, 3> sinogram, view<float, 3> filtered, \
     filter_options const& options, char const* operation, char const* array),             \
    (c, s, sinogram, filtered, options, operation, array), void)
#define MBIRK_FILTER_OPERATIONS(X, C) MBIRK_EACH_DIRECT_GEOMETRY(MBIRK_FILTER_OF, X, C)

namespace mbirk {

MBIRK_FILTER_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_FILTER_OPERATIONS(MBIRK_DECLARE_OPERATION, instances::none_context)

}  // namespace mbirk
