// One subset update of vectorised coordinate descent (Bouman and Buzzard 2024) as a template over an interpreter, for
// any geometry, with the qGGMRF prior of recon or the proximal term of prox_map; both repeat it for every subset of
// every iteration. The interpreter must have `temporary(name, shape)`, an array that is zero at first.
// Shapes: sinograms (views, rows, channels), voxel columns (pixels, slices).
#pragma once

#include <array>
#include <type_traits>

#include "mbirk/definition/interpreter.hpp"
#include "mbirk/definition/proximal.hpp"
#include "mbirk/definition/qggmrf.hpp"
#include "mbirk/geometry/scan.hpp"

namespace mbirk::definition {

/// Proximal term whose input v is an array (rows, cols, slices).
template <class Input> struct proximal_prior {
  double sigma;
  Input prox_input;
};

/// An input whose elements all have one value.
template <class T> struct constant_input {
  T value;
  template <class... I> T at(I const&...) const { return value; }
};

/// Gradient and curvature of a prior at the listed pixels, as inputs (pixels, slices) of later stages.
template <class Slope, class Curvature> struct prior_terms { Slope slope; Curvature curvature; };

template <class M, class Recon, class Pixels>
auto prior_at_pixels(M& m, std::array<index_t, 3> const& shape, qggmrf_parameters const& prior, Recon x, Pixels pixels,
                     index_t count) {
  auto const slope = m.temporary("prior_slope", {count, shape[2]});
  auto const curvature = m.temporary("prior_curvature", {count, shape[2]});
  qggmrf_gradient_and_hessian(m, shape, prior, x, pixels, count, slope, curvature);
  return prior_terms{m.input(slope), m.input(curvature)};
}
template <class M, class Input, class Recon, class Pixels>
auto prior_at_pixels(M& m, std::array<index_t, 3> const& shape, proximal_prior<Input> const& prior, Recon x,
                     Pixels pixels, index_t count) {
  using T = typename M::real;
  using I = typename M::index;
  T const curvature(proximal_curvature(prior.sigma));
  auto const slope = m.temporary("prior_slope", {count, shape[2]});
  m.each("prior", {"pixel", count}, {"slice", shape[2]}, [&](I p, I k) {
    I const i = pixels.at(p) / I(shape[1]), j = pixels.at(p) % I(shape[1]);
    m.store(slope, proximal_gradient(x.at(i, j, k), prior.prox_input.at(i, j, k), curvature), p, k);
  });
  return prior_terms{m.input(slope), constant_input<T>{curvature}};
}

/// Stands in for the damping factors of an update without slice damping.
struct undamped {};

/// shift(k) = (1 - s_k) times the mean of G over the pixels, weighted by 1 / K: the part of the mean gradient of a
/// slice that damping takes away. Without damping it is 0. One stage stores both sums of a slice, so that a fused graph
/// does not compute them again for every voxel.
template <class M, class Damping, class Gradient, class Curvature>
auto slice_shifts(M& m, Damping damping, index_t count, index_t slices, Gradient const& gradient,
                  Curvature const& curvature) {
  using T = typename M::real;
  using I = typename M::index;
  if constexpr (std::is_same_v<Damping, undamped>) {
    return [](I) { return T(0.0); };
  } else {
    auto const gradients = m.temporary("slice_gradients", {slices}), weights = m.temporary("slice_weights", {slices});
    m.each("slice sums", {"slice", slices}, [&](I k) {
      m.store(gradients, m.sum("pixel", count, [&](I p) { return gradient(p, k) / curvature(p, k); }), k);
      m.store(weights, m.sum("pixel", count, [&](I p) { return T(1.0) / curvature(p, k); }), k);
    });
    return [damping, gradient_sum = m.input(gradients), weight_sum = m.input(weights)](I k) {
      return (T(1.0) - damping.at(k)) * (gradient_sum.at(k) / weight_sum.at(k));
    };
  }
}

/// Gradient G = prior slope - A' w e / sigma_y^2, curvature K = hessian / sigma_y^2 + prior curvature, direction
/// d = (shift - G) / K, z = A d. The step alpha minimises the surrogate along d:
/// alpha = (<w e, z> / sigma_y^2 - <prior slope, d>) / (<w z, z> / sigma_y^2 + <prior curvature, d^2>),
/// clamped to [2^-23, max_alpha]. new_values[p] = x[p] + alpha d[p] at the listed pixels, new_error = e - alpha z.
/// @param prior    qggmrf_parameters or proximal_prior
/// @param damping  factors s_k of the slices as an input, or undamped{}
/// @param hessian  diagonal of A' diag(w) A at the listed pixels
template <class M, class Geometry, class Prior, class Damping, class Recon, class Sinogram, class VoxelColumns,
          class Pixels, class NewValues, class NewError>
void vcd_subset_update(M& m, scan<Geometry> const& s, Prior const& prior, Damping damping, double sigma_y,
                       double max_alpha, Recon x, Sinogram error, Sinogram weights, VoxelColumns hessian, Pixels pixels,
                       index_t count, NewValues new_values, NewError new_error) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  T const c(1 / (sigma_y * sigma_y));
  axis const view{"view", g.views}, row{"row", g.rows}, channel{"channel", g.channels}, pixel{"pixel", count},
      slice{"slice", g.slices};

  auto const weighted_error = m.temporary("weighted_error", {g.views, g.rows, g.channels});
  auto const weighted = m.input(weighted_error);
  m.each("weigh", view, row, channel, [&](I v, I r, I n) {
    m.store(weighted_error, weights.at(v, r, n) * error.at(v, r, n), v, r, n);
  });
  auto const data_slope = m.temporary("slope", {count, g.slices});
  auto const slope = m.input(data_slope);
  operators<Geometry>::back(m, s, weighted, pixels, count, 1, data_slope);
  auto const terms = prior_at_pixels(m, s.recon_shape(), prior, x, pixels, count);
  auto const gradient = [&](I p, I k) { return terms.slope.at(p, k) - c * slope.at(p, k); };
  auto const curvature = [&](I p, I k) { return c * hessian.at(p, k) + terms.curvature.at(p, k); };
  auto const shift = slice_shifts(m, damping, count, g.slices, gradient, curvature);
  auto const direction = m.temporary("direction", {count, g.slices});
  auto const d = m.input(direction);
  m.each("direction", pixel, slice, [&](I p, I k) {
    m.store(direction, (shift(k) - gradient(p, k)) / curvature(p, k), p, k);
  });
  auto const projection = m.temporary("projection", {g.views, g.rows, g.channels});
  auto const z = m.input(projection);
  operators<Geometry>::forward(m, s, d, pixels, count, projection);

  auto const step = m.temporary("step", {index_t{1}});
  auto const alpha = m.input(step);
  m.each("line search", {"step", 1}, [&](I one) {
    auto const over_samples = [&](auto const& term) {
      return m.sum("view", g.views, [&](I v) {
        return m.sum("row", g.rows, [&](I r) {
          return m.sum("channel", g.channels, [&](I n) { return term(v, r, n); });
        });
      });
    };
    auto const over_voxels = [&](auto const& term) {
      return m.sum("pixel", count, [&](I p) { return m.sum("slice", g.slices, [&](I k) { return term(p, k); }); });
    };
    T const fall = c * over_samples([&](I v, I r, I n) { return weighted.at(v, r, n) * z.at(v, r, n); }) -
                   over_voxels([&](I p, I k) { return terms.slope.at(p, k) * d.at(p, k); });
    T const rise =
        c * over_samples([&](I v, I r, I n) { return weights.at(v, r, n) * z.at(v, r, n) * z.at(v, r, n); }) +
        over_voxels([&](I p, I k) { return terms.curvature.at(p, k) * d.at(p, k) * d.at(p, k); });
    T const least(0x1p-23);
    m.store(step, min(max(fall / (rise + least), least), T(max_alpha)), one);
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
