// Parameters of the qGGMRF prior and their validation.
#pragma once

#include <array>
#include <cmath>
#include <string>

#include "mbirk/core/error.hpp"

namespace mbirk {

/// Parameters of the prior h(x) = sum over neighbouring voxels s, r of b rho(x_s - x_r), with MBIRJAX's names and
/// defaults. docs/conventions.md gives the units.
struct qggmrf_parameters {
  /// Scale, in the unit of the voxels: smoothing is quadratic for differences well below T sigma_x.
  double sigma_x = 1;
  double p = 2;        ///< power of rho for small differences
  double q = 1.2;      ///< power of rho for large differences; small values preserve edges
  double T = 1;        ///< threshold between small and large differences, in units of sigma_x
  /// Weights of the neighbours at row, column and slice +- 1; only ratios matter.
  std::array<double, 3> nbr_wts{1, 1, 1};
};

/// @throws parameter_error unless sigma_x > 0, T > 0, 1 <= q <= p <= 2 and the weights are >= 0 and not all zero.
inline void require_valid(qggmrf_parameters const& v, char const* operation,
                          source_location w = source_location::current()) {
  auto const positive = [&](double x, char const* name) {
    require(x > 0 && std::isfinite(x), [&] {
      return detail::message(operation, ": ", name, " is ", x, ", expected a positive number");
    }, w);
  };
  positive(v.sigma_x, "sigma_x");
  positive(v.T, "T");
  require(
      1 <= v.q && v.q <= v.p && v.p <= 2,
      [&] {
        return detail::message(operation, ": q is ", v.q, " and p is ", v.p, ", expected 1 <= q <= p <= 2");
      },
      w);
  double sum = 0;
  bool usable = true;
  for (auto const b : v.nbr_wts) {
    usable = usable && b >= 0;
    sum += b;
  }
  require(
      usable && sum > 0 && std::isfinite(sum),
      [&] {
        return detail::message(operation, ": nbr_wts is (", v.nbr_wts[0], ", ", v.nbr_wts[1], ", ", v.nbr_wts[2],
                               "), expected three weights >= 0, not all zero");
      },
      w);
}

/// Automatic sigma_x for data of unit magnitude: 0.2 2^sharpness.
inline double sharpness_factor(double sharpness) { return 0.2 * std::exp2(sharpness); }

/// Factor b of rho for a pair of neighbours along an axis (0 row, 1 column, 2 slice): the six factors of an inner voxel
/// add up to 1.
inline double neighbour_weight(qggmrf_parameters const& v, int axis) {
  return v.nbr_wts[static_cast<std::size_t>(axis)] / (2 * (v.nbr_wts[0] + v.nbr_wts[1] + v.nbr_wts[2]));
}

}  // namespace mbirk
