// Region of reconstruction: which pixels of the (rows, cols) grid are reconstructed. Plain arrays, no policy.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

#include "mbirk/core/error.hpp"

namespace mbirk {

/// User-defined mask, (rows, cols) in C order, every value 0 or 1.
struct mask_array {
  std::array<index_t, 2> shape{};
  std::vector<std::uint8_t> values;
  friend bool operator==(mask_array const&, mask_array const&) = default;
};

/// `use_ror_mask`: true (inscribed ellipse), false (all pixels) or an array.
using mask_setting = std::variant<bool, mask_array>;

namespace detail {

// Rounding of this expression decides whether pixels exactly on the ellipse are inside, so a product must not be fused
// into the sum. The volatile store prevents contraction under any compiler flags; it runs once per pixel of one grid.
inline bool inside_ellipse(double across, double down) noexcept {
  double volatile const across_squared = across * across;
  double volatile const down_squared = down * down;
  return across_squared + down_squared <= 1.0;
}

}  // namespace detail

/// Shrinks the ellipse relative to the grid, by pixels or by a fraction of each semi-axis; not both.
struct mask_crop {
  double fraction = 0;
  index_t pixels = 0;
};

/// The ellipse inscribed in the grid: ((j - cc)/ac)^2 + ((i - cr)/ar)^2 <= 1, in double, with cr = (rows - 1)/2,
/// cc = (cols - 1)/2 and the semi-axes ar = cr - max(trunc(cr * fraction), pixels, 0), ac likewise. A grid with one row
/// or column has no pixel inside (0/0).
///
/// @return rows * cols values, 0 or 1.
/// @throws parameter_error if both crops are given.
inline std::vector<std::uint8_t> ror_mask(index_t rows, index_t cols, mask_crop crop = {}) {
  require(crop.fraction == 0 || crop.pixels == 0, [] {
    return "ror_mask: give a crop in pixels or as a fraction, not both";
  });
  double const centre_row = static_cast<double>(rows - 1) / 2, centre_col = static_cast<double>(cols - 1) / 2;
  auto const semi_axis = [&](double c) {
    return c - std::max({std::trunc(c * crop.fraction), static_cast<double>(crop.pixels), 0.0});
  };
  // Volatile, because fast-math flags would replace the division by a multiplication with the reciprocal.
  double volatile const semi_row = semi_axis(centre_row), semi_col = semi_axis(centre_col);
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(rows * cols));
  if (semi_row == 0 || semi_col == 0) return mask;
  for (index_t i = 0; i < rows; ++i) {
    double const down = (static_cast<double>(i) - centre_row) / semi_row;
    for (index_t j = 0; j < cols; ++j)
      mask[static_cast<std::size_t>(i * cols + j)] =
          detail::inside_ellipse((static_cast<double>(j) - centre_col) / semi_col, down);
  }
  return mask;
}

/// Evaluates a mask setting on the (rows, cols) grid.
/// @throws parameter_error if an array has another shape or a value other than 0 and 1.
inline std::vector<std::uint8_t> make_mask(index_t rows, index_t cols, mask_setting const& setting) {
  if (auto const* array = std::get_if<mask_array>(&setting)) {
    require(array->shape == std::array{rows, cols} &&
            array->values.size() == static_cast<std::size_t>(rows * cols), [&] {
      return "use_ror_mask has shape " + detail::shape_text(array->shape) + ", expected (rows, cols) = " +
             detail::shape_text(std::array{rows, cols});
    });
    for (std::size_t p = 0; p < array->values.size(); ++p)
      require(array->values[p] <= 1, [&] {
        return detail::message("use_ror_mask: the value of pixel ", p, " is ", array->values[p], ", expected 0 or 1");
      });
    return array->values;
  }
  if (std::get<bool>(setting)) return ror_mask(rows, cols);
  return std::vector<std::uint8_t>(static_cast<std::size_t>(rows * cols), 1);
}

/// Pixel indices p = i * cols + j inside the mask, ascending.
inline std::vector<std::int32_t> full_indices(std::vector<std::uint8_t> const& mask) {
  std::vector<std::int32_t> indices;
  for (std::size_t p = 0; p < mask.size(); ++p)
    if (mask[p]) indices.push_back(static_cast<std::int32_t>(p));
  return indices;
}

}  // namespace mbirk
