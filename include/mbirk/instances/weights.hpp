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

#define MBIRK_WEIGHTS_OF(E, C, G)                                                                             \
  E template void gen_weights_mar(C const&, scan<G> const&, view<float const, 3>,                             \
                                  std::optional<view<float const, 3>>, std::optional<double>, double, double, \
                                  view<float, 3>, mar_record*);
#define MBIRK_WEIGHT_OPERATIONS(E, C)                                                       \
  E template void gen_weights(C const&, view<float const, 3>, weight_type, view<float, 3>); \
  MBIRK_EACH_GEOMETRY(MBIRK_WEIGHTS_OF, E, C)

namespace mbirk {

MBIRK_WEIGHT_KERNELS(MBIRK_DECLARE_KERNEL, instances::native_backend, instances::native_scratch)
MBIRK_WEIGHT_OPERATIONS(extern, instances::none_context)

}  // namespace mbirk
