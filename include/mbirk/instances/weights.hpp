// Weights of measurements, as mbirk::compiled holds them.
#pragma once

#include "mbirk/instances/declare.hpp"
#include "mbirk/recon/weights.hpp"

#define MBIRK_WEIGHT_KERNELS(X, B, S)                    \
  X(kernel::no_scratch, kernel::above_threshold<B>)      \
  X(kernel::no_scratch, kernel::emission_weights<B>)     \
  X(kernel::no_scratch, kernel::metal_weights<B, false>) \
  X(kernel::no_scratch, kernel::metal_weights<B, true>)  \
  X(kernel::no_scratch, kernel::transmission_weights<B>) \
  X(kernel::no_scratch, kernel::unit_weights<B>)

#define MBIRK_WEIGHTS_OF(X, C, G)                                                                                   \
  X(C, G, weights_mar, gen_weights_mar,                                                                             \
    (C const& c, scan<G> const& s, view<float const, 3> sinogram, std::optional<view<float const, 3>> recon,        \
     std::optional<double> metal_threshold, double beta, double gamma, view<float, 3> weights, mar_record* record), \
    (c, s, sinogram, recon, metal_threshold, beta, gamma, weights, record), void)
#define MBIRK_WEIGHTS(X, C)                                                                \
  X(C, void, weights, gen_weights,                                                         \
    (C const& c, view<float const, 3> sinogram, weight_type type, view<float, 3> weights), \
    (c, sinogram, type, weights), void)
#define MBIRK_WEIGHT_OPERATIONS(X, C)         \
  MBIRK_WEIGHTS(X, C)                         \
  MBIRK_EACH_GEOMETRY(MBIRK_WEIGHTS_OF, X, C)

namespace mbirk {

MBIRK_WEIGHT_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_WEIGHT_OPERATIONS(MBIRK_DECLARE_OPERATION, instances::none_context)

}  // namespace mbirk
