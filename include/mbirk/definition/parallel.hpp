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

/// Footprints of pixels q in views v, as footprint(v, q) of the functions below.
template <class M, class Scan> auto parallel_footprints(M& m, Scan const& s) {
  return [angles = view_angles(m, s), g = s.geometry()](auto v, auto q) {
    return parallel_footprint_at(g, angles.at(v), q);
  };
}

/// y[v, m, n] += a(v, n; p) x[p, m] over the listed pixels, for rays that stay in a slice; y must be zero on entry.
template <class M, class Geometry, class Footprint, class VoxelColumns, class Pixels, class Sinogram>
void planar_forward(M& m, Geometry const& g, Footprint const& footprint, VoxelColumns x, Pixels pixels, index_t count,
                    Sinogram y) {
  using T = typename M::real;
  using I = typename M::index;
  m.each("forward", {"view", g.views}, {"pixel", count}, {"slice", g.slices}, [&](I v, I p, I k) {
    auto const f = footprint(v, pixels.at(p));
    I const first = first_cell(left_edge(f.centre, f.width));
    m.loop("tap", parallel_taps(g), [&](I t) {
      T const weight = m.let("weight", f.chord * overlap(f.centre - as<T>(first + t), f.width));
      m.add(y, weight * x.at(p, k), v, k, first + t);
    });
  });
}

/// x[p, m] = sum over v, n of a(v, n; p)^power y[v, m, n].
template <class M, class Geometry, class Footprint, class Sinogram, class Pixels, class VoxelColumns>
void planar_back(M& m, Geometry const& g, Footprint const& footprint, Sinogram y, Pixels pixels, index_t count,
                 int coeff_power, VoxelColumns x) {
  using T = typename M::real;
  using I = typename M::index;
  m.each("back", {"pixel", count}, {"slice", g.slices}, [&](I p, I k) {
    T const total = m.sum("view", g.views, [&](I v) {
      auto const f = footprint(v, pixels.at(p));
      I const first = first_cell(left_edge(f.centre, f.width));
      return m.taps("tap", parallel_taps(g), [&](I t) {
        T const weight = m.let("weight", power(f.chord * overlap(f.centre - as<T>(first + t), f.width), coeff_power));
        return within(first + t, g.channels, weight) * y.clamped(v, k, first + t);
      });
    });
    m.store(x, total, p, k);
  });
}

template <class M, class VoxelColumns, class Pixels, class Sinogram>
void parallel_forward(M& m, parallel_scan const& s, VoxelColumns x, Pixels pixels, index_t count, Sinogram y) {
  planar_forward(m, s.geometry(), parallel_footprints(m, s), x, pixels, count, y);
}
template <class M, class Sinogram, class Pixels, class VoxelColumns>
void parallel_back(M& m, parallel_scan const& s, Sinogram y, Pixels pixels, index_t count, int coeff_power,
                   VoxelColumns x) {
  planar_back(m, s.geometry(), parallel_footprints(m, s), y, pixels, count, coeff_power, x);
}

template <> struct operators<parallel_geometry> {
  static void forward(auto& m, parallel_scan const& s, auto x, auto pixels, index_t count, auto y) {
    parallel_forward(m, s, x, pixels, count, y);
  }
  static void back(auto& m, parallel_scan const& s, auto y, auto pixels, index_t count, int coeff_power, auto x) {
    parallel_back(m, s, y, pixels, count, coeff_power, x);
  }
};

}  // namespace mbirk::definition
