// Epilogues of the forward projections on a device: applied to the channels that a warp has summed, in its registers.
// The kernel stores their results if `stores` is true. `leaves_sums` says whether every warp leaves a sum, `in_turns`
// whether a warp may take several groups of channels one after another, to find their pixels in L1. epilogue.hpp has
// those of the host, which see whole views.
#pragma once

#include "mbirk/core/index.hpp"
#include "mbirk/kernel/shared/step.hpp"
#include "mbirk/simd/pack.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Stores the projection z.
template <class B> struct gather_store {
  using pack = typename B::pack;
  static constexpr bool stores = true, leaves_sums = false, in_turns = false;

  static MBIRK_INLINE index_t index_of_sum(index_t, index_t) noexcept { return 0; }
  static MBIRK_INLINE pack of_pack(index_t, pack z, pack&) noexcept { return z; }
  static MBIRK_INLINE void of_four(index_t, pack (&)[4], pack&) noexcept {}
  static MBIRK_INLINE void end(index_t, typename B::sums) noexcept {}
};

/// Leaves the sum of w z^2 of every warp. Keep: stores w z.
template <class B, bool Weighted, bool Keep> struct gather_norm {
  using pack = typename B::pack;
  static constexpr bool stores = Keep, leaves_sums = true, in_turns = false;

  typename B::template cursor<float const> weights;  // channel-major; unused unless Weighted
  typename B::template cursor<double> partial;       // (views of all chunks, warps_of_view)
  index_t warps_of_view;

  /// Index in `partial` of the sum of a warp. @param view  of all chunks: chunk * views + view
  MBIRK_INLINE index_t index_of_sum(index_t view, index_t warp) const noexcept { return view * warps_of_view + warp; }
  /// w z of the pack that belongs at `at`; adds w z^2 to row, which is float within a channel.
  MBIRK_INLINE pack of_pack(index_t at, pack z, pack& row) const noexcept {
    pack const wz = Weighted ? z * B::load(weights + at) : z;
    row = fma(wz, z, row);
    return wz;
  }
  /// Replaces four packs z by w z, where a lane has four neighbouring elements; adds w z^2 to row.
  MBIRK_INLINE void of_four(index_t at, pack (&z)[4], pack& row) const noexcept {
    pack w[4];
    if constexpr (Weighted) B::load_four(weights + at, w);
    for (int k = 0; k < 4; ++k) {
      pack const wz = Weighted ? z[k] * w[k] : z[k];
      row = fma(wz, z[k], row);
      z[k] = wz;
    }
  }
  MBIRK_INLINE void end(index_t index, typename B::sums total) const noexcept {
    B::store_total(partial + index, total);
  }
};

/// Stores e - step w z in the place of e.
template <class B, bool Weighted> struct gather_subtract {
  using pack = typename B::pack;
  static constexpr bool stores = true, leaves_sums = false, in_turns = true;

  typename B::template cursor<float const> weights;  // channel-major; unused unless Weighted
  typename B::template cursor<float const> error;    // channel-major
  step_length step;

  static MBIRK_INLINE index_t index_of_sum(index_t, index_t) noexcept { return 0; }
  MBIRK_INLINE pack of_pack(index_t at, pack z, pack&) const noexcept {
    pack const wz = Weighted ? z * B::load(weights + at) : z;
    return fnma(B::broadcast(step.get()), wz, B::load(error + at));
  }
  /// Replaces four packs z by e - step w z, where a lane has four neighbouring elements.
  MBIRK_INLINE void of_four(index_t at, pack (&z)[4], pack&) const noexcept {
    pack w[4], e[4];
    if constexpr (Weighted) B::load_four(weights + at, w);
    B::load_four(error + at, e);
    pack const alpha = B::broadcast(step.get());
    for (int k = 0; k < 4; ++k) z[k] = fnma(alpha, Weighted ? z[k] * w[k] : z[k], e[k]);
  }
  static MBIRK_INLINE void end(index_t, typename B::sums) noexcept {}
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
