// Compile-time pack counts for loops whose accumulators must stay in registers.
#pragma once

#include <type_traits>
#include <utility>

#include "mbirk/core/config.hpp"
#include "mbirk/simd/vector.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Calls f(constant<n>) for a run-time 1 <= n <= Max, so that accumulators of n packs stay in registers. Counting
/// backends get f(bounded<Max>{n}) instead, and an emulated device for n < Max: their speed does not justify compiling
/// f Max times.
template <class B, int Max, class F> MBIRK_INLINE void with_packs(int n, F const& f) {
  if constexpr (B::counts) {
    f(simd::bounded<Max>{n});
  } else if constexpr (requires { requires B::emulated; }) {
    if (n == Max) f(simd::constant<Max>{});
    else f(simd::bounded<Max>{n});
  } else {
    [&]<int... I>(std::integer_sequence<int, I...>) MBIRK_FLAT {
      (void)((n == I + 1 && (f(simd::constant<I + 1>{}), true)) || ...);
    }(std::make_integer_sequence<int, Max>{});
  }
}

/// Whether a lane can have four neighbouring elements, so that one access loads all four packs.
template <class B, class Packs>
inline constexpr bool four_slices =
    std::is_same_v<Packs, simd::constant<4>> && requires(typename B::pack (&x)[4]) {
      B::load_four(static_cast<float const*>(nullptr), x);
    };

/// Maximum packs per chunk, such that the accumulators of a back projection, or two channels of a forward projection,
/// stay in registers. One limit for both projections, because they share the error sinogram. With 16 registers a third
/// channel is spilled, which costs less than computing weights for shorter chunks.
template <class B> inline constexpr int most_chunk_packs = B::lanes == 16 ? 8 : 6;

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
