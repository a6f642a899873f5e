// Multiplies planned pixels by one factor per slice.
#pragma once


#include "mbirk/core/index.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// x[p, k] *= factors[k]. A task is a batch of pixels.
template <class B> struct scale_slices {
  using I = typename B::index_backend;
  static constexpr index_t batch = 256;
  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<index_t const> offsets;        // offsets of the voxel columns
  typename B::template cursor<float const> factors;          // padded to whole packs
  index_t pixels, slices;

  MBIRK_HD void operator()(index_t task) const noexcept {
    for (index_t p = task * batch; p < min(pixels, (task + 1) * batch); ++p) {
      auto const x = voxel_columns + I::load_value(offsets + p);
      for (index_t k = 0; k < slices; k += B::lanes) {
        auto const factor = B::load(factors + k);
        int const left = static_cast<int>(min<index_t>(B::lanes, slices - k));
        if (left == B::lanes) B::store(x + k, factor * B::load(x + k));
        else B::store_partial(x + k, factor * B::load_partial(x + k, left), left);
      }
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
