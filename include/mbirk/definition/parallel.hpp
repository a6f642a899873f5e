// The parallel-beam operators as short texts over a machine. Obviously right, slow; the tuned kernels are tested against them.
// Shapes: sinogram (views, rows, channels), cylinders (pixels, slices); pixels lists p = i * cols + j.
#pragma once

#include "mbirk/definition/machine.hpp"
#include "mbirk/geometry/scan.hpp"

namespace mbirk::definition {

/// Taps that cover any footprint of this geometry: W <= max(delta_x, delta_y) / delta_c.
inline index_t parallel_taps(parallel_geometry const& g) { return tap_count(std::max(g.delta_x, g.delta_y) / g.delta_det_channel); }

/// y[v, m, n] += a(v, n; p) x[p, m] over the listed pixels; y must be zero before.
template <class M, class Cylinders, class Pixels, class Sinogram>
void parallel_forward(M& m, parallel_scan const& s, Cylinders x, Pixels pixels, index_t count, Sinogram y) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  m.each("forward", {"view", g.views}, {"pixel", count}, {"slice", g.slices}, [&](I v, I p, I k) {
    I const q = static_cast<I>(pixels.at(p)), i = q / I(g.recon_cols), j = q % I(g.recon_cols);
    auto const& at = s.positions()[static_cast<std::size_t>(v)];
    auto const f = parallel_footprint(g, T(at.cosine), T(at.sine), column_x(g, T(j)), row_y(g, T(i)));
    I const first = first_cell(left_edge(f.centre, f.width));
    m.loop("tap", parallel_taps(g), [&](I t) {
      T const weight = m.let("weight", f.chord * overlap(f.centre - T(first + t), f.width));
      m.add(y, weight * x.at(p, k), v, k, first + t);
    });
  });
}

/// x[p, m] = sum over v, n of a(v, n; p)^power y[v, m, n].
template <class M, class Sinogram, class Pixels, class Cylinders>
void parallel_back(M& m, parallel_scan const& s, Sinogram y, Pixels pixels, index_t count, int coeff_power, Cylinders x) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  m.each("back", {"pixel", count}, {"slice", g.slices}, [&](I p, I k) {
    I const q = static_cast<I>(pixels.at(p)), i = q / I(g.recon_cols), j = q % I(g.recon_cols);
    T const total = m.sum("view", g.views, [&](I v) {
      auto const& at = s.positions()[static_cast<std::size_t>(v)];
      auto const f = parallel_footprint(g, T(at.cosine), T(at.sine), column_x(g, T(j)), row_y(g, T(i)));
      I const first = first_cell(left_edge(f.centre, f.width));
      return m.taps("tap", parallel_taps(g), [&](I t) {
        I const n = first + t;
        T const weight = m.let("weight", power(f.chord * overlap(f.centre - T(n), f.width), coeff_power));
        return select(n >= 0 && n < g.channels, weight, T(0.0)) * y.clamped(v, k, n);
      });
    });
    m.store(x, total, p, k);
  });
}

}  // namespace mbirk::definition
