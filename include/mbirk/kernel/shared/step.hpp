// Steps of the iterative methods: how long, and how kernels get to know.
#pragma once

#include "mbirk/core/config.hpp"
#include "mbirk/core/finite.hpp"
#include "mbirk/core/index.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// The length of a step: a number, or where a kernel of the device has left it, so that nobody waits.
struct step_length {
  double value = 0;
  double const* stored = nullptr;  // null: it is `value`

  MBIRK_INLINE float get(double more = 0) const noexcept { return static_cast<float>((stored ? *stored : value) + more); }
};

/// alpha = slope / curve, clipped to [2^-23, most]. A quotient that is not finite stays so: NaN.
MBIRK_HD inline double clipped_step(double slope, double curve, double most) noexcept {
  double const best = slope / curve;
  return mbirk::detail::is_finite(best) ? clamp(best, 0x1p-23, most) : best - best;
}

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
