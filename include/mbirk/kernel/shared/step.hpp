// Step length of an iteration, as a host value or a device address.
#pragma once

#include "mbirk/core/config.hpp"
#include "mbirk/core/finite.hpp"
#include "mbirk/core/index.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Step length: a host value, or the device address where a kernel has stored it, so that the host need not
/// synchronise.
struct step_length {
  double value = 0;
  double const* stored = nullptr;  // if null, the step is `value`

  MBIRK_INLINE float get(double more = 0) const noexcept {
    return static_cast<float>((stored ? *stored : value) + more);
  }
};

/// alpha = slope / curve, clamped to [2^-23, most]; NaN if the quotient is not finite.
MBIRK_HD inline double clipped_step(double slope, double curve, double most) noexcept {
  double const best = slope / curve;
  return mbirk::detail::is_finite(best) ? clamp(best, 0x1p-23, most) : best - best;
}

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
