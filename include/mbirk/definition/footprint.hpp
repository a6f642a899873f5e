// Projector formulas, each defined once for any arithmetic type: float, double, packs, counted, fixed-point or recorded
// scalars. No loops over arrays, no policy. `using std::...` lets plain numbers and user types (by ADL) share the code.
#pragma once

#include <cmath>
#include <type_traits>

#include "mbirk/core/config.hpp"
#include "mbirk/geometry/cone.hpp"
#include "mbirk/geometry/parallel.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::definition {

using std::abs;
using std::atan;
using std::ceil;
using std::floor;
using std::sqrt;

/// Overloads for plain numbers, because those of std cannot be called in device code. Other arithmetic types provide
/// their own by ADL, including select.
template <class T>
  requires(std::is_arithmetic_v<T>)
MBIRK_HD constexpr T max(T a, T b) noexcept { return a < b ? b : a; }
template <class T>
  requires(std::is_arithmetic_v<T>)
MBIRK_HD constexpr T min(T a, T b) noexcept { return b < a ? b : a; }

template <class T> MBIRK_HD constexpr T select(bool c, T a, T b) noexcept { return c ? a : b; }

/// max and min of numbers that are not NaN: some types find these by fewer instructions.
template <class T> MBIRK_HD MBIRK_INLINE T larger(T a, T b) noexcept {
  if constexpr (requires { max_number(a, b); }) return max_number(a, b);
  else return max(a, b);
}
template <class T> MBIRK_HD MBIRK_INLINE T smaller(T a, T b) noexcept {
  if constexpr (requires { min_number(a, b); }) return min_number(a, b);
  else return min(a, b);
}

/// Overlap of a unit detector cell with a box of the given width whose centre is `distance` away, all in cells:
/// T(d; W) = clip((W + 1)/2 - |d|, 0, min(1, W)).
template <class T> MBIRK_HD MBIRK_INLINE T overlap(T distance, T width) noexcept {
  return larger(T(0.0), smaller((width + T(1.0)) * T(0.5) - abs(distance), smaller(T(1.0), width)));
}

/// T(d; W) / min(1, W) = clip(reach - |d|, 0, 1), where the distance d and the reach (W + 1)/2 are in units of
/// min(1, W) cells.
template <class T> MBIRK_HD MBIRK_INLINE T overlap_share(T distance, T reach) noexcept {
  if constexpr (requires { saturated_fma(distance, distance, reach); })
    return saturated_fma(abs(distance), T(-1.0), reach);
  else return larger(T(0.0), smaller(reach - abs(distance), T(1.0)));
}

/// Left edge of a footprint in a frame in which cell n is [n, n + 1): centre - width/2 + 1/2. Its floor is the first
/// cell of the footprint.
template <class T>
MBIRK_HD MBIRK_INLINE T left_edge(T centre, T width) noexcept { return centre + T(0.5) - width * T(0.5); }

/// Overlaps T of the cells floor(left edge) + {0, 1} for width <= 1; f is the fractional part of the left edge.
template <class T> struct two_overlaps { T first, second; };
template <class T> MBIRK_HD MBIRK_INLINE two_overlaps<T> overlap_two(T f, T width) noexcept {
  T const second = larger(f + (width - T(1.0)), T(0.0));
  return {width - second, second};
}

/// Overlaps T of the cells floor(left edge) + {0, 1, 2} for width <= 2; f is the fractional part of the left edge.
template <class T> struct three_overlaps { T first, second, third; };
template <class T> MBIRK_HD MBIRK_INLINE three_overlaps<T> overlap_three(T f, T width) noexcept {
  T const first = smaller(T(1.0) - f, width), third = larger(f + (width - T(2.0)), T(0.0));
  return {first, width - first - third, third};
}

/// Overlap T of the cell floor(left edge) + tap for any width; f is the fractional part of the left edge.
template <class T> MBIRK_HD MBIRK_INLINE T overlap_tap(T f, T width, T tap) noexcept {
  return larger(smaller(tap + T(1.0), f + width) - larger(tap, f), T(0.0));
}

/// Detector coordinate of a point at distance u from the central ray: (u + offset) / pitch + (cells - 1)/2.
template <class T> MBIRK_HD MBIRK_INLINE T detector_cell(T u, double offset, double pitch, index_t cells) noexcept {
  return (u + T(offset)) * T(1.0 / pitch) + T(0.5 * static_cast<double>(cells - 1));
}

/// x of column j and y of row i in the object frame (origin on the rotation axis, in the centre of the grid). shift:
/// columns or rows by which a view shifts the object.
template <class Geometry, class T>
MBIRK_HD MBIRK_INLINE T column_x(Geometry const& g, T j, double shift = 0) noexcept {
  return T(g.delta_x) * (j - T(0.5 * static_cast<double>(g.recon_cols - 1) + shift));
}
template <class Geometry, class T>
MBIRK_HD MBIRK_INLINE T row_y(Geometry const& g, T i, double shift = 0) noexcept {
  return T(g.delta_y) * (i - T(0.5 * static_cast<double>(g.recon_rows - 1) + shift));
}

/// Horizontal footprint of a pixel in a view: centre and width in channels, and the chord delta_x delta_y / F that
/// scales it. The chord is an amplitude, not a position, so it may have a narrower type.
template <class T, class Chord = T> struct footprint { T centre, width; Chord chord; };

/// Parallel beam: n_p = (cos x - sin y + o_c)/delta_c + (C - 1)/2, F = max(|cos| delta_x, |sin| delta_y),
/// W = F/delta_c.
/// (Projector theory: Long, Fessler, Balter 2010; box profiles as in MBIRJAX.)
template <class T>
MBIRK_HD MBIRK_INLINE footprint<T> parallel_footprint(parallel_geometry const& g, T cosine, T sine, T x, T y) noexcept {
  T const extent = max(abs(cosine) * T(g.delta_x), abs(sine) * T(g.delta_y));
  return {detector_cell(cosine * x - sine * y, g.det_channel_offset, g.delta_det_channel, g.channels),
          extent * T(1.0 / g.delta_det_channel), T(g.delta_x * g.delta_y) / extent};
}

/// Cone-beam footprint: the horizontal footprint and the vertical scale, g = 1/(1/M - y/D) and W_r = g delta_z/delta_r.
template <class T, class Chord = T> struct cone_footprint {
  footprint<T, Chord> channel;
  T magnification, row_width, inverse_row_width;
};

/// Identity conversion: keeps the type of a number.
struct same_type {
  template <class T> MBIRK_HD MBIRK_INLINE T operator()(T value) const noexcept { return value; }
};

/// Flat detector: u = g x, cos beta = kappa = 1/sqrt(1 + (u/D)^2). Curved: u = D atan(t), t = x/(D/M - y),
/// and kappa = 1 in the width only. F = max(|cos(theta - beta)| delta_x, |sin(theta - beta)| delta_y),
/// W_c = g F/(delta_c kappa). With a side_extent other than delta_y, that takes its place in F.
/// (Balke et al. 2018; MBIRJAX)
/// A pixel beside or behind the source (1/M - y/D <= 0) does not contribute: its chord is 0. The chord is computed in
/// the type that narrow(T) returns.
template <class T, class Narrow = same_type>
MBIRK_HD MBIRK_INLINE auto make_cone_footprint(cone_geometry const& g, T cosine, T sine, T x, T y,
                                               Narrow const& narrow = {}) noexcept {
  T const xr = cosine * x - sine * y, yr = sine * x + cosine * y;
  T const depth = T(g.inverse_magnification) - yr * T(g.inverse_detector_dist);
  auto const seen = T(1e-9) < depth;
  T const near = select(seen, depth, T(1.0)), m = T(1.0) / near;
  T const t = m * xr * T(g.inverse_detector_dist);     // tan beta, for both detectors
  T const squared_secant = T(1.0) + t * t;
  T const across =  // F sec(beta)
      max(abs(cosine + sine * t) * T(g.delta_x), abs(sine - cosine * t) * T(g.side_extent));
  T const u = g.curved ? atan(t) * T(g.curved ? 1.0 / g.inverse_detector_dist : 0.0) : m * xr;
  T const width = m * across * T(1.0 / g.delta_det_channel);
  auto const chord =
      narrow(select(seen, T(g.delta_x * g.delta_y), T(0.0))) * sqrt(narrow(squared_secant)) / narrow(across);
  return cone_footprint<T, std::remove_const_t<decltype(chord)>>{
      {detector_cell(u, g.det_channel_offset, g.delta_det_channel, g.channels),
       g.curved ? width / sqrt(squared_secant) : width, chord},
      m, m * T(g.delta_z / g.delta_det_row), near * T(g.delta_det_row / g.delta_z)};
}

/// z of slice k relative to the source: delta_z (k - (S - 1)/2) + o_z - zeta.
template <class T> MBIRK_HD MBIRK_INLINE T slice_z(cone_geometry const& g, T k, T z_shift) noexcept {
  return T(g.delta_z) * (k - T(0.5 * static_cast<double>(g.slices - 1))) + (T(g.recon_slice_offset) - z_shift);
}

/// Detector row of a point at height z above the source plane: (magnification z + o_r)/delta_r + (R - 1)/2.
template <class T> MBIRK_HD MBIRK_INLINE T detector_row(cone_geometry const& g, T magnification, T z) noexcept {
  return detector_cell(magnification * z, g.det_row_offset, g.delta_det_row, g.rows);
}

/// Secant of the ray's elevation, sqrt(1 + g^2 t), with t = (z/D)^2.
template <class T> MBIRK_HD MBIRK_INLINE T elevation_secant(T squared_magnification, T t) noexcept {
  return sqrt(T(1.0) + squared_magnification * t);
}

}  // namespace mbirk::definition

MBIRK_KERNELS_END
