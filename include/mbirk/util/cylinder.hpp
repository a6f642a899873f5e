// Masks a reconstruction to a cylinder, because voxels near its border absorb the attenuation of the material outside.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "mbirk/core/error.hpp"
#include "mbirk/core/view.hpp"

namespace mbirk {

/// Zeroes the voxels with (i - cr)^2 + (j - cc)^2 > (max(cr, cc) - radial)^2, cr = (rows - 1) / 2, cc = (cols - 1) / 2,
/// and the first `top` and the last `bottom` slices. The remaining voxels are unchanged; zeroed voxels are 0 even if
/// they were not finite.
///
/// @param recon        (rows, cols, slices), in place.
/// @param radial       margin in pixels; a margin above the radius zeroes everything (MBIRJAX would square a negative
///                     radius).
/// @param top, bottom  numbers of slices; if their sum exceeds the number of slices, all slices are zeroed.
/// @throws parameter_error when radial is not finite or top or bottom is negative.
/// Source: MBIRJAX 0.7.3.
inline void apply_cylindrical_mask(view<float, 3> recon, double radial = 0, index_t top = 0, index_t bottom = 0) {
  require(std::isfinite(radial), [&] {
    return "apply_cylindrical_mask: radial is " + detail::number_text(radial) + ", expected a finite number";
  });
  require(top >= 0 && bottom >= 0, [&] {
    return "apply_cylindrical_mask: top and bottom are " + std::to_string(top) + " and " + std::to_string(bottom) +
           ", expected at least 0";
  });
  double const row_centre = static_cast<double>(recon.extent(0) - 1) / 2,
               col_centre = static_cast<double>(recon.extent(1) - 1) / 2;
  double const radius = std::max(row_centre, col_centre) - radial;
  index_t const slices = recon.extent(2), first = std::min(top, slices),
                last = std::max(first, slices - std::min(bottom, slices));
  for (index_t i = 0; i < recon.extent(0); ++i)
    for (index_t j = 0; j < recon.extent(1); ++j) {
      double const down = static_cast<double>(i) - row_centre, across = static_cast<double>(j) - col_centre;
      bool const inside = radius >= 0 && down * down + across * across <= radius * radius;
      for (index_t k = 0; k < slices; ++k)
        if (!inside || k < first || k >= last) recon(i, j, k) = 0;
    }
}

}  // namespace mbirk
