// Weights that reduce the trust in rays through metal, as a template over an interpreter that has
// `temporary(name, shape)`: metal mask of an image, its projection, weights.
// Shapes: sinogram and weights (views, rows, channels), init_recon (rows, cols, slices), metal_threshold (1).
#pragma once

#include "mbirk/definition/weights.hpp"
#include "mbirk/geometry/scan.hpp"

namespace mbirk::definition {

/// w = exp(-y (1 + gamma mu) / beta), mu = [A [init_recon > metal_threshold] > 0] over the listed pixels.
template <class M, class Geometry, class Sinogram, class Recon, class Threshold, class Pixels, class Output>
void metal_weights(M& m, scan<Geometry> const& s, Sinogram y, Recon init_recon, Threshold metal_threshold,
                   Pixels pixels, index_t count, double beta, double gamma, Output weights) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  auto const mask = m.temporary("metal", {count, g.slices});
  m.each("metal", {"pixel", count}, {"slice", g.slices}, [&](I p, I k) {
    I const q = pixels.at(p);
    T const x = init_recon.at(q / I(g.recon_cols), q % I(g.recon_cols), k);
    m.store(mask, above_threshold(x, metal_threshold.at(I(0))), p, k);
  });
  auto const projection = m.temporary("projection", {g.views, g.rows, g.channels});
  operators<Geometry>::forward(m, s, m.input(mask), pixels, count, projection);
  auto const traces = m.input(projection);
  m.each("weights", {"view", g.views}, {"row", g.rows}, {"channel", g.channels}, [&](I v, I r, I n) {
    m.store(weights,
            metal_weight(y.at(v, r, n), traces.at(v, r, n), T(0.0), T(-1 / beta), T(-(1 + gamma) / beta)), v, r, n);
  });
}

}  // namespace mbirk::definition
