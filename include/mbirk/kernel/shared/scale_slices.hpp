// Multiplies every slice of planned pixels by a factor of its own.
#pragma once


#include "mbirk/core/index.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// x[p, k] *= factors[k]. A task is a batch of pixels.
template <class B> struct scale_slices {
  using G = typename B::geometry;
  static constexpr index_t batch = 256;
  typename B::template cursor<float> cylinders;
  typename G::template cursor<index_t const> offsets;        // of their cylinders
  typename B::template cursor<float const> factors;          // padded to whole packs
  index_t pixels, slices;

  MBIRK_HD void operator()(index_t task) const noexcept {
    for (index_t p = task * batch; p < least(pixels, (task + 1) * batch); ++p) {
      auto const x = cylinders + G::load_value(offsets + p);
      for (index_t k = 0; k < slices; k += B::lanes) {
        auto const factor = B::load(factors + k);
        int const left = static_cast<int>(least<index_t>(B::lanes, slices - k));
        if (left == B::lanes) B::store(x + k, factor * B::load(x + k));
        else B::store_partial(x + k, factor * B::load_partial(x + k, left), left);
      }
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
