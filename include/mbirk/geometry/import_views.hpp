// Views from other descriptions of a scan: projection matrices, geometry files of RTK, and TIGRE's angles and offsets.
// (ASTRA's cone_vec and parallel3d_vec need no conversion: their rows are view vectors.)
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mbirk/core/vector3.hpp"
#include "mbirk/geometry/general.hpp"

namespace mbirk {

/// Detector of a projection matrix: channel n is at first_channel + n channel_pitch, row m at first_row + m row_pitch,
/// in the coordinates to which the matrix projects. Matrices to pixels have 0 and 1.
struct matrix_detector {
  index_t rows = 0, channels = 0;
  double first_channel = 0, channel_pitch = 1, first_row = 0, row_pitch = 1;
};

/// The vectors of views, and whether they begin with ray directions.
struct imported_views {
  std::vector<double> view_vectors = {};
  bool parallel_rays = false;
};

namespace detail {

/// Vectors of one view from its 3 x 4 matrix, by rows; whether its rays are parallel.
inline bool add_matrix_view(std::array<double, 12> const& p, matrix_detector const& on, index_t view,
                            std::vector<double>& vectors) {
  vector3 const a{p[0], p[1], p[2]}, b{p[4], p[5], p[6]}, c{p[8], p[9], p[10]};
  double const middle_a = on.first_channel + 0.5 * static_cast<double>(on.channels - 1) * on.channel_pitch,
               middle_b = on.first_row + 0.5 * static_cast<double>(on.rows - 1) * on.row_pitch;
  auto const require_regular = [&](bool regular) {
    require(regular, [&] {
      return message("projection matrix ", view, " is singular, expected three rows that are independent, or for ",
                     "parallel rays two and (0, 0, 0, c)");
    });
  };
  vector3 source, centre, u, v;
  bool const parallel = c.x == 0 && c.y == 0 && c.z == 0;
  if (parallel) {
    // Rays along a x b; the vectors dual to a and b across them.
    source = cross(a, b);
    double const volume = dot(source, source);
    require_regular(p[11] != 0 && volume > 1e-18 * dot(a, a) * dot(b, b));
    auto const dual_a = cross(b, source) * (p[11] / volume), dual_b = cross(source, a) * (p[11] / volume);
    u = dual_a * on.channel_pitch;
    v = dual_b * on.row_pitch;
    centre = dual_a * (middle_a - p[3] / p[11]) + dual_b * (middle_b - p[7] / p[11]);
  } else {
    // The point x of the ray to (s, t) where the third coordinate is k: A x + b = k (s, t, 1).
    double const determinant = dot(a, cross(b, c));
    require_regular(std::abs(determinant) > 1e-12 * length(a) * length(b) * length(c));
    auto const dual_a = cross(b, c) / determinant, dual_b = cross(c, a) / determinant,
               dual_c = cross(a, b) / determinant;
    source = dual_a * -p[3] - dual_b * p[7] - dual_c * p[11];
    // The detector is on the side of the origin, where its channels have their pitch.
    double const k = (p[11] < 0 ? -1 : 1) / length(dual_a);
    u = dual_a * (on.channel_pitch * k);
    v = dual_b * (on.row_pitch * k);
    centre = source + (dual_a * middle_a + dual_b * middle_b + dual_c) * k;
  }
  add_view(vectors, source, centre, u, v);
  return parallel;
}

}  // namespace detail

/// Views from projection matrices: (x, y, z, 1) is projected to (k s, k t, k), s along the channels and t along the
/// rows. x runs along the columns, y along the rows, z along the slices of the reconstruction, from its middle.
/// @param matrices  3 x 4 numbers per view, by rows.
/// @throws parameter_error for matrices that are singular, or of which some have parallel rays and some do not.
inline imported_views views_from_matrices(std::vector<std::array<double, 12>> const& matrices,
                                          matrix_detector const& detector) {
  require(detector.rows >= 0 && detector.channels >= 0, [&] {
    return detail::message("the detector has ", detector.rows, " rows and ", detector.channels,
                           " channels, expected no negative number");
  });
  for (auto const& [value, name] : {std::pair{detector.first_channel, "first_channel"},
                                    std::pair{detector.first_row, "first_row"}})
    detail::require_finite(value, name);
  for (auto const& [pitch, name] : {std::pair{detector.channel_pitch, "channel_pitch"},
                                    std::pair{detector.row_pitch, "row_pitch"}})
    require(std::isfinite(pitch) && pitch != 0, [&] {
      return detail::message(name, " is ", pitch, ", expected a finite pitch other than 0");
    });
  imported_views views;
  for (std::size_t k = 0; k < matrices.size(); ++k) {
    for (auto const x : matrices[k])
      require(std::isfinite(x), [&] {
        return detail::message("projection matrix ", k, " has the number ", x, ", expected finite numbers");
      });
    bool const parallel =
        detail::add_matrix_view(matrices[k], detector, static_cast<index_t>(k), views.view_vectors);
    require(k == 0 || parallel == views.parallel_rays, [&] {
      return detail::message("projection matrix ", k, parallel ? " has parallel rays, " : " has a source, ",
                             "expected parallel rays in all matrices or in none");
    });
    views.parallel_rays = parallel;
  }
  return views;
}

/// Views from a geometry file of RTK (RTKThreeDCircularGeometry) with matrices to lengths on the detector. Its
/// y axis becomes the axis of the slices, its z axis that of the rows, so that an array (z, y, x) of ITK is
/// (rows, slices, columns).
/// Comments are not told from matrices, and the collimation of the file is ignored.
/// @param text      contents of the XML file.
/// @param detector  origin and spacing of the projections, in the unit of the file.
/// @throws parameter_error for a file without matrices, with others than 3 x 4 numbers, or with a curved detector.
inline imported_views views_from_rtk(std::string_view text, matrix_detector const& detector) {
  constexpr std::string_view open = "<Matrix>", close = "</Matrix>", curved = "<RadiusCylindricalDetector>",
                             space = " \t\r\n";
  require(text.find("RTKThreeDCircularGeometry") != text.npos, [] {
    return std::string("the text is not a geometry file of RTK, expected RTKThreeDCircularGeometry");
  });
  require(text.find(curved) == text.npos, [] {
    return std::string("the geometry file has a RadiusCylindricalDetector, expected a flat detector");
  });
  std::vector<std::array<double, 12>> matrices;
  for (auto at = text.find(open); at != text.npos; at = text.find(open, at)) {
    at += open.size();
    auto const end = text.find(close, at);
    require(end != text.npos, [&] {
      return detail::message("matrix ", matrices.size(), " of the geometry file has no end, expected ", close);
    });
    std::vector<double> numbers;
    for (auto const* p = text.data() + at; p != text.data() + end;) {
      if (space.find(*p) != space.npos) {
        ++p;
        continue;
      }
      double x = 0;
      auto const [rest, fault] = std::from_chars(p, text.data() + end, x);
      bool const ends = rest == text.data() + end || space.find(*rest) != space.npos;
      require(fault == std::errc() && rest != p && ends, [&] {
        return detail::message("matrix ", matrices.size(), " of the geometry file has a word that is no number");
      });
      require(numbers.size() < 12, [&] {
        return detail::message("matrix ", matrices.size(), " of the geometry file has more than 12 numbers, expected ",
                               "3 x 4");
      });
      numbers.push_back(x);
      p = rest;
    }
    require(numbers.size() == 12, [&] {
      return detail::message("matrix ", matrices.size(), " of the geometry file has ", numbers.size(),
                             " numbers, expected 3 x 4");
    });
    auto& m = matrices.emplace_back();
    std::copy(numbers.begin(), numbers.end(), m.begin());
    for (std::size_t row = 0; row < 12; row += 4) std::swap(m[row + 1], m[row + 2]);
  }
  require(!matrices.empty(), [] {
    return std::string("the geometry file has no matrix, expected one per projection");
  });
  return views_from_matrices(matrices, detector);
}

/// A scan as TIGRE describes it, with its names. Values per view may be given once for all views, or not at all (0).
struct tigre_geometry {
  double DSD = 0, DSO = 0;                    ///< from the source to the detector and to the axis
  double dDetector_v = 1, dDetector_u = 1;    ///< pitches of rows and channels
  std::vector<double> offDetector_v = {}, offDetector_u = {};
  std::vector<double> offOrigin_z = {}, offOrigin_y = {}, offOrigin_x = {};
  std::vector<double> COR = {};
  std::vector<double> dRoll = {}, dPitch = {}, dYaw = {};  ///< rotDetector
  bool parallel = false;                      ///< mode "parallel"
};

/// Views from the geometry of TIGRE's Python package. Its image (z, y, x) is (slices, rows, columns), its projections
/// (view, row, channel). In mode "parallel" offDetector moves the detector and does not tilt the rays, as in TIGRE's
/// back projection; its forward projection tilts them.
/// @param angles  one per view, or three Euler angles (ZYZ) per view, radians.
/// @throws parameter_error for other numbers of angles or values, and for distances that are not positive.
inline imported_views views_from_tigre(tigre_geometry const& g, std::vector<double> const& angles, index_t views) {
  bool const three = views > 0 && std::ssize(angles) % 3 == 0 && std::ssize(angles) / 3 == views;
  index_t const per_view = three ? 3 : 1;
  require(three || std::ssize(angles) == views, [&] {
    return detail::message("angles has ", angles.size(), " values, expected one or three per view = ", views);
  });
  detail::require_positive(g.DSD, "DSD");
  detail::require_positive(g.DSO, "DSO");
  auto const value = [&](std::vector<double> const& list, char const* name, index_t v) {
    require(list.size() <= 1 || std::ssize(list) == views, [&] {
      return detail::message(name, " has ", list.size(), " values, expected none, one, or one per view = ", views);
    });
    return list.empty() ? 0.0 : list.size() == 1 ? list[0] : list[static_cast<std::size_t>(v)];
  };
  // Rotations about z, y and z, and of the detector about its own axes, roll about z, pitch about y, yaw about x.
  auto const about_z = [](vector3 const& p, double a) {
    return vector3{std::cos(a) * p.x - std::sin(a) * p.y, std::sin(a) * p.x + std::cos(a) * p.y, p.z};
  };
  auto const about_y = [](vector3 const& p, double a) {
    return vector3{std::cos(a) * p.x + std::sin(a) * p.z, p.y, -std::sin(a) * p.x + std::cos(a) * p.z};
  };
  auto const about_x = [](vector3 const& p, double a) {
    return vector3{p.x, std::cos(a) * p.y - std::sin(a) * p.z, std::sin(a) * p.y + std::cos(a) * p.z};
  };
  imported_views result{{}, g.parallel};
  for (index_t v = 0; v < views; ++v) {
    auto const angle = [&](index_t k) {
      return k < per_view ? angles[static_cast<std::size_t>(per_view * v + k)] : 0.0;
    };
    auto const turned = [&](vector3 const& p) { return about_z(about_y(about_z(p, angle(2)), angle(1)), angle(0)); };
    auto const tilted = [&](vector3 const& p) {
      return about_z(about_y(about_x(p, value(g.dYaw, "dYaw", v)), value(g.dPitch, "dPitch", v)),
                     value(g.dRoll, "dRoll", v));
    };
    double const cor = value(g.COR, "COR", v);
    vector3 const moved = vector3{-cor * std::sin(angle(0)), cor * std::cos(angle(0)), 0} -
                          vector3{value(g.offOrigin_x, "offOrigin_x", v), value(g.offOrigin_y, "offOrigin_y", v),
                                  value(g.offOrigin_z, "offOrigin_z", v)};
    vector3 const centre{g.DSO - g.DSD, value(g.offDetector_u, "offDetector_u", v),
                         value(g.offDetector_v, "offDetector_v", v)};
    auto const source = turned({g.DSO, 0, 0}), detector = turned(centre);
    auto const first = g.parallel ? source * -1 : source + moved;
    detail::add_view(result.view_vectors, first, detector + moved, turned(tilted({0, g.dDetector_u, 0})),
                     turned(tilted({0, 0, g.dDetector_v})));
  }
  return result;
}

}  // namespace mbirk
