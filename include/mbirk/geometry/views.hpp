// Views of scans whose gantry turns about one axis: their lists as the user gives them, and their positions as kernels
// read them. A geometry names its own types; these are those of parallel and cone beam.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "mbirk/core/error.hpp"

namespace mbirk {

/// Position of the gantry and of the object in one view.
struct view_position {
  double cosine, sine;  ///< cosine and sine of the view angle, in double from the float32 angle
  double z_shift;       ///< helical travel along the axis; 0 in parallel beam
  /// Columns and rows by which the object is shifted against the gantry, towards lower x and y.
  double column_shift = 0, row_shift = 0;
};

/// Angle and travel of the gantry, one of each per view.
struct gantry_views {
  std::vector<float> angles;
  std::vector<float> z_shifts = {};  ///< empty if the gantry does not travel

  /// Calls f(name, list) for each list, with the name that definitions give to it as an input.
  template <class F> void each(F const& f) const {
    f("angles", angles);
    f("z_shifts", z_shifts);
  }
};

namespace detail {

inline void require_finite(double x, char const* name) {
  require(std::isfinite(x), [&] { return detail::message(name, " is ", x, ", expected a finite number"); });
}

/// Checks the views that replace those of a scan.
inline void require_views(gantry_views const& v, index_t views) {
  require(static_cast<index_t>(v.angles.size()) == views, [&] {
    return detail::message("set_views: ", v.angles.size(), " angles, expected ", views);
  });
  require(v.z_shifts.empty() || v.z_shifts.size() == v.angles.size(), [&] {
    return detail::message("set_views: ", v.z_shifts.size(), " z shifts, expected one per angle = ", v.angles.size());
  });
  for (auto const a : v.angles) require_finite(a, "set_views: an angle");
  for (auto const z : v.z_shifts) require_finite(z, "set_views: a z shift");
}

}  // namespace detail

/// Positions of the views. A gantry that does not travel gets z shifts of 0.
inline std::vector<view_position> place_views(gantry_views& v) {
  v.z_shifts.resize(v.angles.size());
  std::vector<view_position> positions;
  for (std::size_t k = 0; k < v.angles.size(); ++k) {
    double const angle = v.angles[k];  // stored as float32, double from here on
    positions.push_back({std::cos(angle), std::sin(angle), static_cast<double>(v.z_shifts[k])});
  }
  return positions;
}

}  // namespace mbirk
