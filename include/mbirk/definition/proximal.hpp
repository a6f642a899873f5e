// Proximal term |x - v|^2 / (2 sigma^2) of prox_map: formulas over any scalar type.
#pragma once

#include "mbirk/core/config.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::definition {

/// Curvature of the term, 1 / sigma^2, equal for all voxels.
inline double proximal_curvature(double sigma) noexcept { return 1 / (sigma * sigma); }

/// Gradient of the term, (x - v) / sigma^2.
template <class T> MBIRK_HD MBIRK_INLINE T proximal_gradient(T x, T v, T curvature) noexcept {
  return curvature * (x - v);
}

}  // namespace mbirk::definition

MBIRK_KERNELS_END
