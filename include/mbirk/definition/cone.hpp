// The cone-beam operators as short texts over a machine: rows and channels are resampled one after the other, as the weights factor.
// Shapes: sinogram (views, rows, channels), cylinders (pixels, slices), columns (pixels, rows) of one view.
#pragma once

#include "mbirk/definition/machine.hpp"
#include "mbirk/geometry/scan.hpp"

namespace mbirk::definition {

/// The vertical factor b(m; k) = sec(phi_k) T(m_p(k) - m; W_r).
template <class T, class I> T cone_row_weight(cone_geometry const& g, cone_footprint<T> const& f, T z, I row) {
  T const ratio = z * T(g.inverse_detector_dist);
  return elevation_secant(f.magnification * f.magnification, ratio * ratio) *
         overlap(detector_row(g, f.magnification, z) - T(row), f.row_width);
}

/// The footprint of listed pixel q in view v.
template <class T, class I> cone_footprint<T> cone_footprint_at(cone_scan const& s, I v, I q) {
  auto const& g = s.geometry();
  auto const& at = s.positions()[static_cast<std::size_t>(v)];
  return make_cone_footprint(g, T(at.cosine), T(at.sine), column_x(g, T(q % I(g.recon_cols))), row_y(g, T(q / I(g.recon_cols))));
}

/// y[v, m, n] += sum over p of a(v, n; p) sum over k of b(v, m; p, k) x[p, k]; y must be zero before.
/// columns is a (pixels, rows) temporary.
template <class M, class Cylinders, class Pixels, class Columns, class Sinogram>
void cone_forward(M& m, cone_scan const& s, Cylinders x, Pixels pixels, index_t count, Columns columns, Sinogram y) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  auto const column = m.input(columns);
  m.loop("view", g.views, [&](I v) {
    T const zeta = T(s.positions()[static_cast<std::size_t>(v)].z_shift);
    m.each("rows", {"pixel", count}, {"row", g.rows}, [&](I p, I r) {
      auto const f = cone_footprint_at<T>(s, v, static_cast<I>(pixels.at(p)));
      T const total = m.sum("slice", g.slices, [&](I k) {
        return m.let("row weight", cone_row_weight(g, f, slice_z(g, T(k), zeta), r)) * x.at(p, k);
      });
      m.store(columns, total, p, r);
    });
    m.each("channels", {"pixel", count}, {"row", g.rows}, [&](I p, I r) {
      auto const f = cone_footprint_at<T>(s, v, static_cast<I>(pixels.at(p)));
      I const first = first_cell(left_edge(f.channel.centre, f.channel.width));
      m.loop("tap", tap_count(static_cast<double>(f.channel.width)), [&](I t) {
        T const weight = m.let("channel weight", f.channel.chord * overlap(f.channel.centre - T(first + t), f.channel.width));
        m.add(y, weight * column.at(p, r), v, r, first + t);
      });
    });
  });
}

/// x[p, k] += sum over v, m, n of (a(v, n; p) b(v, m; p, k))^power y[v, m, n]; x must be zero before.
template <class M, class Sinogram, class Pixels, class Columns, class Cylinders>
void cone_back(M& m, cone_scan const& s, Sinogram y, Pixels pixels, index_t count, int coeff_power, Columns columns, Cylinders x) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  auto const column = m.input(columns);
  m.loop("view", g.views, [&](I v) {
    T const zeta = T(s.positions()[static_cast<std::size_t>(v)].z_shift);
    m.each("channels", {"pixel", count}, {"row", g.rows}, [&](I p, I r) {
      auto const f = cone_footprint_at<T>(s, v, static_cast<I>(pixels.at(p)));
      I const first = first_cell(left_edge(f.channel.centre, f.channel.width));
      T const total = m.taps("tap", tap_count(static_cast<double>(f.channel.width)), [&](I t) {
        I const n = first + t;
        T const weight = m.let("channel weight", power(f.channel.chord * overlap(f.channel.centre - T(n), f.channel.width), coeff_power));
        return select(n >= 0 && n < g.channels, weight, T(0.0)) * y.clamped(v, r, n);
      });
      m.store(columns, total, p, r);
    });
    m.each("rows", {"pixel", count}, {"slice", g.slices}, [&](I p, I k) {
      auto const f = cone_footprint_at<T>(s, v, static_cast<I>(pixels.at(p)));
      T const total = m.sum("row", g.rows, [&](I r) {
        return m.let("row weight", power(cone_row_weight(g, f, slice_z(g, T(k), zeta), r), coeff_power)) * column.at(p, r);
      });
      m.add(x, total, p, k);
    });
  });
}

}  // namespace mbirk::definition
