// Parallel-beam operators as templates over an interpreter. Simple and slow; the tuned kernels are tested against them.
// Shapes: sinogram (views, rows, channels), voxel columns (pixels, slices); pixels lists p = i * cols + j.
#pragma once

#include "mbirk/definition/interpreter.hpp"
#include "mbirk/geometry/scan.hpp"

namespace mbirk::definition {

/// Upper bound on the taps of any footprint of this geometry: W <= max(delta_x, delta_y) / delta_c.
inline index_t parallel_taps(parallel_geometry const& g) {
  return tap_count(std::max(g.delta_x, g.delta_y) / g.delta_det_channel);
}

/// Footprint of pixel q at angle theta.
template <class T, class I> footprint<T> parallel_footprint_at(parallel_geometry const& g, T theta, I q) {
  return parallel_footprint(g, cos(theta), sin(theta), column_x(g, as<T>(q % I(g.recon_cols))),
                            row_y(g, as<T>(q / I(g.recon_cols))));
}

/// y[v, m, n] += a(v, n; p) x[p, m] over the listed pixels; y must be zero on entry.
template <class M, class Cylinders, class Pixels, class Sinogram>
void parallel_forward(M& m, parallel_scan const& s, Cylinders x, Pixels pixels, index_t count, Sinogram y) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  auto const angles = view_angles(m, s);
  m.each("forward", {"view", g.views}, {"pixel", count}, {"slice", g.slices}, [&](I v, I p, I k) {
    auto const f = parallel_footprint_at(g, angles.at(v), pixels.at(p));
    I const first = first_cell(left_edge(f.centre, f.width));
    m.loop("tap", parallel_taps(g), [&](I t) {
      T const weight = m.let("weight", f.chord * overlap(f.centre - as<T>(first + t), f.width));
      m.add(y, weight * x.at(p, k), v, k, first + t);
    });
  });
}

/// x[p, m] = sum over v, n of a(v, n; p)^power y[v, m, n].
template <class M, class Sinogram, class Pixels, class Cylinders>
void parallel_back(M& m, parallel_scan const& s, Sinogram y, Pixels pixels, index_t count, int coeff_power,
                   Cylinders x) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  auto const angles = view_angles(m, s);
  m.each("back", {"pixel", count}, {"slice", g.slices}, [&](I p, I k) {
    T const total = m.sum("view", g.views, [&](I v) {
      auto const f = parallel_footprint_at(g, angles.at(v), pixels.at(p));
      I const first = first_cell(left_edge(f.centre, f.width));
      return m.taps("tap", parallel_taps(g), [&](I t) {
        T const weight = m.let("weight", power(f.chord * overlap(f.centre - as<T>(first + t), f.width), coeff_power));
        return within(first + t, g.channels, weight) * y.clamped(v, k, first + t);
      });
    });
    m.store(x, total, p, k);
  });
}

}  // namespace mbirk::definition
