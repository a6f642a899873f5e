// One subset update of vectorised coordinate descent (Bouman and Buzzard 2024), parallel beam with the qGGMRF prior, as
// a template over an interpreter; `recon` repeats it for every subset of every iteration.
// Shapes: sinograms (views, rows, channels), voxel columns (pixels, slices).
#pragma once

#include "mbirk/definition/parallel.hpp"
#include "mbirk/definition/qggmrf.hpp"

namespace mbirk::definition {

/// Temporaries passed between the stages of an update.
template <class Sinogram, class Cylinders, class Number> struct vcd_temporaries {
  Sinogram weighted_error, projection;
  Cylinders slope, prior_slope, prior_curvature, direction;
  Number step;
};

/// gradient G = prior_slope - A' w e / sigma_y^2, curvature B = hessian / sigma_y^2 + prior_curvature, direction
/// d = -G / B, z = A d. The step alpha minimises the surrogate along d:
/// alpha = (<w e, z> / sigma_y^2 - <prior_slope, d>) / (<w z, z> / sigma_y^2 + <prior_curvature, d^2>),
/// clamped to [2^-23, max_alpha]. new_values[p] = x[p] + alpha d[p] at the listed pixels, new_error = e - alpha z.
/// @param hessian  diagonal of A' diag(w) A at the listed pixels
/// @param t        temporaries; t.projection must be zero on entry
template <class M, class Recon, class Sinogram, class Cylinders, class Pixels, class Temporaries, class NewValues,
          class NewError>
void vcd_subset_update(M& m, parallel_scan const& s, qggmrf_parameters const& prior, double sigma_y, double max_alpha,
                       Recon x, Sinogram error, Sinogram weights, Cylinders hessian, Pixels pixels, index_t count,
                       Temporaries t, NewValues new_values, NewError new_error) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  T const c(1 / (sigma_y * sigma_y));
  axis const view{"view", g.views}, row{"row", g.slices}, channel{"channel", g.channels}, pixel{"pixel", count},
      slice{"slice", g.slices};
  auto const weighted = m.input(t.weighted_error), z = m.input(t.projection);
  auto const slope = m.input(t.slope), prior_slope = m.input(t.prior_slope),
      prior_curvature = m.input(t.prior_curvature), d = m.input(t.direction);
  auto const alpha = m.input(t.step);

  m.each("weigh", view, row, channel, [&](I v, I r, I n) {
    m.store(t.weighted_error, weights.at(v, r, n) * error.at(v, r, n), v, r, n);
  });
  parallel_back(m, s, weighted, pixels, count, 1, t.slope);
  qggmrf_gradient_and_hessian(m, s.recon_shape(), prior, x, pixels, count, t.prior_slope, t.prior_curvature);
  m.each("direction", pixel, slice, [&](I p, I k) {
    T const gradient = prior_slope.at(p, k) - c * slope.at(p, k),
        curvature = c * hessian.at(p, k) + prior_curvature.at(p, k);
    m.store(t.direction, T(0.0) - gradient / curvature, p, k);
  });
  parallel_forward(m, s, d, pixels, count, t.projection);
  m.each("line search", {"step", 1}, [&](I one) {
    auto const over_samples = [&](auto const& term) {
      return m.sum("view", g.views, [&](I v) {
        return m.sum("row", g.slices, [&](I r) {
          return m.sum("channel", g.channels, [&](I n) { return term(v, r, n); });
        });
      });
    };
    auto const over_voxels = [&](auto const& term) {
      return m.sum("pixel", count, [&](I p) { return m.sum("slice", g.slices, [&](I k) { return term(p, k); }); });
    };
    T const fall = c * over_samples([&](I v, I r, I n) { return weighted.at(v, r, n) * z.at(v, r, n); }) -
                   over_voxels([&](I p, I k) { return prior_slope.at(p, k) * d.at(p, k); });
    T const rise =
        c * over_samples([&](I v, I r, I n) { return weights.at(v, r, n) * z.at(v, r, n) * z.at(v, r, n); }) +
        over_voxels([&](I p, I k) { return prior_curvature.at(p, k) * d.at(p, k) * d.at(p, k); });
    T const least(0x1p-23);
    m.store(t.step, min(max(fall / (rise + least), least), T(max_alpha)), one);
  });
  m.each("move", pixel, slice, [&](I p, I k) {
    I const q = pixels.at(p);
    m.store(new_values, x.at(q / I(g.recon_cols), q % I(g.recon_cols), k) + alpha.at(I(0)) * d.at(p, k), p, k);
  });
  m.each("error", view, row, channel, [&](I v, I r, I n) {
    m.store(new_error, error.at(v, r, n) - alpha.at(I(0)) * z.at(v, r, n), v, r, n);
  });
}

}  // namespace mbirk::definition
