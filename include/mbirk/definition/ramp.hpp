// Filter of direct reconstruction: formulas for ramp taps, cosine weight and scale; the filter as a template over an
// interpreter.
// Shapes: sinogram (views, rows, channels).
#pragma once

#include <cmath>
#include <cstdlib>
#include <numbers>

#include "mbirk/definition/footprint.hpp"
#include "mbirk/definition/interpreter.hpp"
#include "mbirk/geometry/scan.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::definition {

using std::fma;
using std::numbers::pi;

/// Tap at a distance of d channels, d a whole number >= 0: 1/4 at 0, -1/(pi d)^2 at odd d, 0 at even d, that is
/// sinc(d)/2 - sinc(d/2)^2/4, the band-limited ramp sampled in space. Branch-free in d.
/// (Kak, Slaney, Principles of Computerized Tomographic Imaging, 3.3)
template <class T> MBIRK_HD MBIRK_INLINE T ramp_tap(T d) noexcept {
  T const odd = d - T(2.0) * floor(T(0.5) * d), length = T(pi) * max(d, T(1.0));
  return select(d < T(0.5), T(0.25), T(0.0) - odd / (length * length));
}

/// Ramp tap bit-identical to MBIRJAX 0.7.3: the sinc formula in float32 with a float32 pi, where sin(pi d) is not
/// exactly 0. Its error of up to 4.3e-8 is common to all views, so the reconstruction error is 1e-4 of the peak at 513
/// channels. For comparisons only. Every step is computed in double and rounded to float, which gives the bits of
/// float32 arithmetic and leaves no operations to contract.
inline float ramp_tap_float32(index_t d) noexcept {
  auto const rounded = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  auto const sinc = [&](double x) {
    if (x == 0) return 1.0;
    double const t = rounded(rounded(pi) * x);
    return rounded(rounded(std::sin(t)) / t);
  };
  double const n = static_cast<double>(std::abs(d)), half = sinc(0.5 * n);
  return static_cast<float>(0.5 * sinc(n) - 0.25 * rounded(half * half));
}

/// Filter scale Gamma: (pi/V)/(delta_x delta_y) in parallel beam, (pi/V) delta_r/(delta_x delta_y delta_z M) in cone
/// beam.
inline double ramp_scale(parallel_geometry const& g) noexcept {
  return pi / static_cast<double>(g.views) / (g.delta_x * g.delta_y);
}
inline double ramp_scale(cone_geometry const& g) noexcept {
  return pi / static_cast<double>(g.views) * g.delta_det_row * g.inverse_magnification /
         (g.delta_x * g.delta_y * g.delta_z);
}

/// Weight W[m, n] applied to a sample before filtering: 1 in parallel beam; in cone beam D/sqrt(D^2 + u^2 + v^2), the
/// cosine of the angle between the ray and the central ray, u = (n - (C - 1)/2) delta_c - o_c,
/// v = (m - (R - 1)/2) delta_r - o_r; 1 if D is infinite. Also used for the curved detector.
/// (Feldkamp, Davis, Kress 1984; MBIRJAX)
template <class T> MBIRK_HD MBIRK_INLINE T ramp_weight(parallel_geometry const&, T, T) noexcept { return T(1.0); }
template <class T> MBIRK_HD MBIRK_INLINE T ramp_weight(cone_geometry const& g, T m, T n) noexcept {
  T const u = fma(T(g.delta_det_channel), n - T(0.5 * static_cast<double>(g.channels - 1)), T(-g.det_channel_offset));
  T const v = fma(T(g.delta_det_row), m - T(0.5 * static_cast<double>(g.rows - 1)), T(-g.det_row_offset));
  T const ratio = T(g.inverse_detector_dist * g.inverse_detector_dist);
  return T(1.0) / sqrt(fma(fma(u, u, v * v), ratio, T(1.0)));
}
/// True if any weight differs from 1.
inline bool ramp_weighted(parallel_geometry const&) noexcept { return false; }
inline bool ramp_weighted(cone_geometry const& g) noexcept { return g.inverse_detector_dist != 0; }

/// q[v, m, n] = sum over n' of Gamma h(|n - n'|) W[m, n'] y[v, m, n'].
template <class M, class Geometry, class Input, class Output>
void direct_filter(M& m, Geometry const& g, Input y, Output q) {
  using T = typename M::real;
  using I = typename M::index;
  m.each("filter", {"view", g.views}, {"row", g.rows}, {"channel", g.channels}, [&](I v, I r, I n) {
    T const total = m.sum("channel", g.channels, [&](I other) {
      T const tap = m.let("tap", T(ramp_scale(g)) * ramp_tap(abs(as<T>(n - other))));
      return tap * (m.let("weight", ramp_weight(g, as<T>(r), as<T>(other))) * y.at(v, r, other));
    });
    m.store(q, total, v, r, n);
  });
}

}  // namespace mbirk::definition

MBIRK_KERNELS_END
