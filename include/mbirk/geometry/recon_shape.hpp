// Reconstruction grids scaled to more or fewer voxels of unchanged size.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "mbirk/core/error.hpp"

namespace mbirk {

/// Scaled shape, and the rows, columns and slices added to the original (negative: removed).
struct scaled_shape {
  std::array<index_t, 3> shape{}, added{};
};

/// Every extent becomes trunc(extent * factor), with the product in double. An object truncated by the detector needs a
/// larger grid.
///
/// @param shape  (rows, cols, slices).
/// @throws parameter_error if a factor is not a finite number above 0, or an extent becomes 0 or more than 2^31 - 1.
inline scaled_shape scale_recon_shape(std::array<index_t, 3> const& shape, double row_factor = 1, double col_factor = 1,
                                      double slice_factor = 1) {
  constexpr char const* names[] = {"row", "col", "slice"};
  constexpr double most = std::numeric_limits<std::int32_t>::max();
  double const factors[] = {row_factor, col_factor, slice_factor};
  scaled_shape s;
  for (std::size_t d = 0; d < 3; ++d) {
    require(std::isfinite(factors[d]) && factors[d] > 0, [&] {
      return detail::message("scale_recon_shape: ", names[d], "_factor is ", factors[d],
                             ", expected a finite number above 0");
    });
    double const scaled = std::trunc(static_cast<double>(shape[d]) * factors[d]);
    require(scaled >= 1 && scaled <= most, [&] {
      return detail::message("scale_recon_shape: axis ", d, " of ", detail::shape_text(shape), " times ", factors[d],
                             " is ", scaled, ", expected 1 to 2147483647");
    });
    s.shape[d] = static_cast<index_t>(scaled);
    s.added[d] = s.shape[d] - shape[d];
  }
  return s;
}

}  // namespace mbirk
