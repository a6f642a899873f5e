// Phantoms, written into the caller's view.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <span>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/core/view.hpp"

namespace mbirk {

/// Two nested ellipsoids in the middle of the grid, with semi-axes of 0.4 and 0.2 of each extent. The value is 0.03 in
/// the inner one, 0.01 in the rest of the outer one, and 0 elsewhere.
inline void nested_ellipsoids(view<float, 3> recon) {
  auto const offset = [&](index_t k, int axis) {
    return (static_cast<double>(k) - static_cast<double>(recon.extent(axis) - 1) / 2) /
           static_cast<double>(recon.extent(axis));
  };
  for (index_t i = 0; i < recon.extent(0); ++i)
    for (index_t j = 0; j < recon.extent(1); ++j)
      for (index_t k = 0; k < recon.extent(2); ++k) {
        double const a = offset(i, 0), b = offset(j, 1), c = offset(k, 2), square = a * a + b * b + c * c;
        recon(i, j, k) = square <= 0.2 * 0.2 ? 0.03f : square <= 0.4 * 0.4 ? 0.01f : 0.0f;
      }
}

namespace detail {

/// Ellipsoid that adds `percent` / 100 where X'^2 / a^2 + Y'^2 / b^2 + (Z - z0)^2 / c^2 <= 1, with (X', Y') = (X - x0,
/// Y - y0) rotated by -degrees.
struct ellipsoid { double x0 = 0, y0 = 0, z0 = 0, a = 1, b = 1, c = 1, degrees = 0, percent = 0; };

/// Sample k of n equally spaced samples from `first` to `last`; a single sample is `first`.
inline double evenly(double first, double last, index_t k, index_t n) {
  return n > 1 ? first + (last - first) * static_cast<double>(k) / static_cast<double>(n - 1) : first;
}

/// Computes recon(i, j, k) = scale * sum of the ellipsoids that contain (x(i, j), y(i, j), z(k)), with z from -1 to 1.
/// Sums of whole percentages are exact, so voxels that should be 0 are 0.
/// Cost: rows x cols x (ellipsoids + slices of the ellipsoids whose cylinder contains the pixel).
template <class X, class Y>
void draw_ellipsoids(view<float, 3> recon, std::span<ellipsoid const> objects, double scale, X const& x, Y const& y) {
  index_t const slices = recon.extent(2);
  std::vector<double> height(objects.size() * static_cast<std::size_t>(slices)), sum(static_cast<std::size_t>(slices));
  for (std::size_t e = 0; e < objects.size(); ++e)
    for (index_t k = 0; k < slices; ++k) {
      double const z = (evenly(-1, 1, k, slices) - objects[e].z0) / objects[e].c;
      height[e * static_cast<std::size_t>(slices) + static_cast<std::size_t>(k)] = z * z;
    }
  std::vector<double> cosine, sine;
  for (auto const& e : objects) {
    cosine.push_back(std::cos(e.degrees * std::numbers::pi / 180));
    sine.push_back(std::sin(e.degrees * std::numbers::pi / 180));
  }
  for (index_t i = 0; i < recon.extent(0); ++i)
    for (index_t j = 0; j < recon.extent(1); ++j) {
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::size_t e = 0; e < objects.size(); ++e) {
        auto const& o = objects[e];
        double const right = x(i, j) - o.x0, up = y(i, j) - o.y0;
        double const across = (cosine[e] * right + sine[e] * up) / o.a,
                     along = (cosine[e] * up - sine[e] * right) / o.b;
        double const flat = across * across + along * along;
        if (flat > 1) continue;
        double const* const h = height.data() + e * static_cast<std::size_t>(slices);
        for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += flat + h[k] <= 1 ? o.percent : 0.0;
      }
      for (index_t k = 0; k < slices; ++k)
        recon(i, j, k) = static_cast<float>(scale * sum[static_cast<std::size_t>(k)] / 100);
    }
}

// Columns: centre, semi-axes, rotation in degrees, percent.
inline constexpr ellipsoid shepp_logan_low_dynamic_range[] = {
    {0, 0, 0, .69, .92, .9, 0, 100},
    {0, .0184, 0, .6624, .874, .88, 0, -80},
    {.22, 0, 0, .41, .16, .21, 108, -20},
    {-.22, 0, 0, .31, .11, .22, 72, -20},
    {0, .35, 0, .21, .25, .5, 0, 10},
    {0, .1, 0, .046, .046, .046, 0, 10},
    {0, -.1, 0, .046, .046, .046, 0, 10},
    {-.08, -.605, 0, .046, .023, .02, 0, 10},
    {0, -.605, 0, .023, .023, .02, 0, 10},
};
/// Kak and Slaney, Principles of Computerized Tomographic Imaging (IEEE Press 1988), page 102.
inline constexpr ellipsoid shepp_logan_reference[] = {
    {0, 0, 0, .69, .92, .9, 0, 200},
    {0, 0, 0, .6624, .874, .88, 0, -98},
    {-.22, 0, -.25, .41, .16, .21, 108, -2},
    {.22, 0, -.25, .31, .11, .22, 72, -2},
    {0, .35, -.25, .21, .25, .5, 0, 2},
    {0, .1, -.25, .046, .046, .046, 0, 2},
    {-.08, -.65, -.25, .046, .023, .02, 0, 1},
    {.06, -.65, -.25, .046, .023, .02, 90, 1},
    {.06, -.105, .625, .056, .04, .1, 90, 2},
    {0, .1, .625, .056, .056, .1, 0, -2},
};

}  // namespace detail

/// Shepp-Logan phantom of nine ellipsoids with contrasts that are visible on a display: x along rows, y along columns,
/// z along slices, each from -1 to 1.
///
/// @param recon                   (rows, cols, slices); overwritten.
/// @param target_max_attenuation  scales the phantom so that its largest line integral is about this value, for a voxel
///     pitch of one unit of length and any size: by target / (0.28 max(0.69 rows, 0.92 cols, 0.9 slices)), values per
///     unit of length. Without it the values are 0 to 1.
/// @throws parameter_error when the target is not finite.
/// Source: MBIRJAX 0.7.3, which evaluates in float32; mbirk evaluates in double, so a voxel exactly on a surface may
/// differ.
inline void generate_3d_shepp_logan_low_dynamic_range(view<float, 3> recon,
                                                      std::optional<double> target_max_attenuation = std::nullopt) {
  double scale = 1;
  if (target_max_attenuation && recon.size() > 0) {
    require(std::isfinite(*target_max_attenuation), [&] {
      return "generate_3d_shepp_logan_low_dynamic_range: target_max_attenuation is " +
             detail::number_text(*target_max_attenuation) + ", expected a finite number";
    });
    auto const extent = [&](int axis) { return static_cast<double>(recon.extent(axis)); };
    scale = *target_max_attenuation / (0.28 * std::max({0.69 * extent(0), 0.92 * extent(1), 0.9 * extent(2)}));
  }
  detail::draw_ellipsoids(recon, detail::shepp_logan_low_dynamic_range, scale,
                          [&](index_t i, index_t) { return detail::evenly(-1, 1, i, recon.extent(0)); },
                          [&](index_t, index_t j) { return detail::evenly(-1, 1, j, recon.extent(1)); });
}

/// The Shepp-Logan phantom of Kak and Slaney, ten ellipsoids: x along columns from -1 to 1, y along rows from 1 down to
/// -1, z along slices from -1 to 1. Values 0 to 2.
///
/// @param recon  (rows, cols, slices); overwritten. MBIRJAX 0.7.3 swaps the first two axes, contrary to its
///               documentation: recon(i, j, k) here is its element [j][i][k].
inline void generate_3d_shepp_logan_reference(view<float, 3> recon) {
  detail::draw_ellipsoids(recon, detail::shepp_logan_reference, 1.0,
                          [&](index_t, index_t j) { return detail::evenly(-1, 1, j, recon.extent(1)); },
                          [&](index_t i, index_t) { return detail::evenly(1, -1, i, recon.extent(0)); });
}

/// A box of a quarter of the rows and columns, in the middle of the first slice and shifted along the columns by up to
/// its width towards the last slice. With h = rows / 4 and w = cols / 4 (integers), slice k is 1 / max(h, w) in rows
/// (rows - h) / 2 to (rows + h) / 2 and columns (cols - w) / 2 + k w / slices to (cols + w) / 2 + k w / slices, upper
/// ends excluded, and 0 elsewhere.
///
/// @param recon  (rows, cols, slices); overwritten. All 0 for fewer than 4 rows or columns. Source: MBIRJAX 0.7.3.
inline void gen_cube_phantom(view<float, 3> recon) {
  index_t const rows = recon.extent(0), cols = recon.extent(1), slices = recon.extent(2), h = rows / 4, w = cols / 4;
  float const value = h > 0 && w > 0 ? static_cast<float>(1.0 / static_cast<double>(std::max(h, w))) : 0.0f;
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < cols; ++j)
      for (index_t k = 0; k < slices; ++k) {
        index_t const shift = k * w / slices;
        bool const inside =
            i >= (rows - h) / 2 && i < (rows + h) / 2 && j >= (cols - w) / 2 + shift && j < (cols + w) / 2 + shift;
        recon(i, j, k) = inside ? value : 0.0f;
      }
}

}  // namespace mbirk
