// The arrays of all back projections in parallel beam on a device, and the taps that their threads share.
#pragma once

#include <cstdint>

#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/plan.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Taps of a pixel in a view, read as one 128-bit word.
struct alignas(16) shared_taps {
  float weight[3];
  std::int32_t first;
};

template <class I> MBIRK_INLINE shared_taps share_taps(pixel_taps<I> const& taps) noexcept {
  return {{I::element(taps.weight[0]), I::element(taps.weight[1]), I::element(taps.weight[2])},
          I::element(taps.first)};
}

/// Arrays of a parallel back projection on a device.
template <class B> struct parallel_back_arrays {
  using I = typename B::index_backend;

  typename B::template cursor<float const> sinogram;           // channel-major
  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<view_taps const> passes;
  index_t all_passes;
  chunked_shape shape;
  bool squared;
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
