// Test objects.
#pragma once

#include "mbirk/core/view.hpp"

namespace mbirk {

/// Two nested ellipsoids in the middle of the grid: semi-axes of 0.4 and 0.2 of each extent, values 0.01 outside and 0.03 within the inner one, else 0.
inline void nested_ellipsoids(view<float, 3> recon) {
  auto const offset = [&](index_t k, int axis) {
    return (static_cast<double>(k) - static_cast<double>(recon.extent(axis) - 1) / 2) / static_cast<double>(recon.extent(axis));
  };
  for (index_t i = 0; i < recon.extent(0); ++i)
    for (index_t j = 0; j < recon.extent(1); ++j)
      for (index_t k = 0; k < recon.extent(2); ++k) {
        double const a = offset(i, 0), b = offset(j, 1), c = offset(k, 2), square = a * a + b * b + c * c;
        recon(i, j, k) = square <= 0.2 * 0.2 ? 0.03f : square <= 0.4 * 0.4 ? 0.01f : 0.0f;
      }
}

}  // namespace mbirk
