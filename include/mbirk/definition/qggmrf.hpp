// The qGGMRF prior: formulas over any scalar type; gradient, curvature and loss as templates over an interpreter.
// Source: Bouman, Foundations of Computational Imaging (2022), chapter 8; parameters as in MBIRJAX.
#pragma once

#include <array>
#include <cmath>

#include "mbirk/definition/interpreter.hpp"
#include "mbirk/prior/parameters.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::definition {

using std::exp2;
using std::log2;

/// |delta| / (T sigma), at least 2^-23 so that its powers stay finite.
template <class T>
MBIRK_HD T qggmrf_size(qggmrf_parameters const& v, T delta) {
  return max(abs(delta) * T(1 / (v.T * v.sigma_x)), T(0x1p-23));
}

/// rho(delta) = a^p / (p sigma^p) u / (1 + u) with u = (a / (T sigma))^(q - p), a = max(|delta|, 2^-23 T sigma).
template <class T> MBIRK_HD T qggmrf_potential(qggmrf_parameters const& v, T delta) {
  T const size = qggmrf_size(v, delta), u = exp2(T(v.q - v.p) * log2(size));
  return exp2(T(v.p) * log2(size * T(v.T))) * T(1 / v.p) * (u / (T(1.0) + u));
}

/// kappa(delta) = rho'(delta) / delta = a^(p - 2) / sigma^p u (q/p + u) / (1 + u)^2: the parabola of this curvature
/// that touches rho at delta majorises it.
template <class T> MBIRK_HD T qggmrf_surrogate(qggmrf_parameters const& v, T delta) {
  T const size = qggmrf_size(v, delta), u = exp2(T(v.q - v.p) * log2(size));
  T const power = exp2(T(v.p - 2) * log2(size * T(v.T))) * T(1 / (v.sigma_x * v.sigma_x));
  return power * u * (T(v.q / v.p) + u) / ((T(1.0) + u) * (T(1.0) + u));
}

/// gradient[p, k] = sum over the six neighbours of b kappa(d) d and hessian[p, k] = sum of b kappa(d), where d is the
/// difference from the neighbour; a missing neighbour is replaced by the voxel itself. shape is (rows, cols, slices) of
/// recon; pixels lists i * cols + j.
template <class M, class Recon, class Pixels, class Out>
void qggmrf_gradient_and_hessian(M& m, std::array<index_t, 3> const& shape, qggmrf_parameters const& v, Recon recon,
                                 Pixels pixels, index_t count, Out gradient, Out hessian) {
  using T = typename M::real;
  using I = typename M::index;
  m.each("prior", {"pixel", count}, {"slice", shape[2]}, [&](I p, I k) {
    I const i = pixels.at(p) / I(shape[1]), j = pixels.at(p) % I(shape[1]);
    T const x = recon.at(i, j, k);
    T g = T(0.0), h = T(0.0);
    auto const neighbour = [&](int axis, I row, I col, I slice) {
      T const d = x - recon.clamped(row, col, slice);
      T const curvature = m.let("curvature", T(neighbour_weight(v, axis)) * qggmrf_surrogate(v, d));
      g = g + curvature * d;
      h = h + curvature;
    };
    neighbour(0, i + I(1), j, k);
    neighbour(0, i - I(1), j, k);
    neighbour(1, i, j + I(1), k);
    neighbour(1, i, j - I(1), k);
    neighbour(2, i, j, k + I(1));
    neighbour(2, i, j, k - I(1));
    m.store(gradient, g, p, k);
    m.store(hessian, h, p, k);
  });
}

/// loss[0] = sum over all pairs of neighbours of b rho(difference).
template <class M, class Recon, class Out>
void qggmrf_loss(M& m, std::array<index_t, 3> const& shape, qggmrf_parameters const& v, Recon recon, Out loss) {
  using T = typename M::real;
  using I = typename M::index;
  auto const along = [&](char const* name, int axis) {
    index_t const di = axis == 0, dj = axis == 1, dk = axis == 2;
    return T(neighbour_weight(v, axis)) * m.sum(name, shape[0] - di, [&](I i) {
      return m.sum("col", shape[1] - dj, [&](I j) {
        return m.sum("slice", shape[2] - dk, [&](I k) {
          return qggmrf_potential(v, recon.at(i, j, k) - recon.at(i + I(di), j + I(dj), k + I(dk)));
        });
      });
    });
  };
  m.each("loss", {"loss", 1}, [&](I n) {
    m.store(loss, along("row pair", 0) + along("column pair", 1) + along("slice pair", 2), n);
  });
}

}  // namespace mbirk::definition

MBIRK_KERNELS_END
