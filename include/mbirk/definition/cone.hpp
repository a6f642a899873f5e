// Cone-beam operators as templates over an interpreter. The weights factor, so channels and rows are resampled
// separately.
// Shapes: sinogram (views, rows, channels), voxel columns (pixels, slices), detector columns (pixels, rows) of one
// view.
#pragma once

#include "mbirk/definition/interpreter.hpp"
#include "mbirk/geometry/scan.hpp"

namespace mbirk::definition {

/// Footprint of pixel q at angle theta.
template <class T, class I> cone_footprint<T> cone_footprint_of(cone_geometry const& g, T theta, I q) {
  return make_cone_footprint(g, cos(theta), sin(theta), column_x(g, as<T>(q % I(g.recon_cols))),
                             row_y(g, as<T>(q / I(g.recon_cols))));
}

/// Footprint of pixel q in view v of a scan, on the host.
template <class T> cone_footprint<T> cone_footprint_at(cone_scan const& s, index_t v, index_t q) {
  return cone_footprint_of(s.geometry(), static_cast<T>(s.angles()[static_cast<std::size_t>(v)]), q);
}

/// Views as the operators of geometries with these footprints take them: footprint(v, q) of pixel q in view v, and
/// z_shift(v), by which the view shifts the object towards lower z.
template <class Footprint, class Shift> struct cone_views { Footprint footprint; Shift z_shift; };
/// Static members: inputs(m, s), the views of a scan as inputs of a definition, and at(s, v, q), a footprint in double
/// on the host.
template <class Geometry> struct cone_views_of;
template <> struct cone_views_of<cone_geometry> {
  static auto inputs(auto& m, cone_scan const& s) {
    auto const angles = view_angles(m, s), shifts = view_shifts(m, s);
    return cone_views{[angles, g = s.geometry()](auto v, auto q) { return cone_footprint_of(g, angles.at(v), q); },
                      [shifts](auto v) { return shifts.at(v); }};
  }
  static auto at(cone_scan const& s, index_t v, index_t q) { return cone_footprint_at<double>(s, v, q); }
};

/// Upper bounds on the taps of any footprint of a scan, computed on the host: channels per pixel, rows per slice,
/// slices per row.
struct cone_taps { index_t channels = 1, rows = 1, slices = 1; };
template <class Geometry> cone_taps count_taps(scan<Geometry> const& s) {
  auto const& g = s.geometry();
  double widest = 0, tallest = 0, lowest = 1e300;
  for (index_t v = 0; v < g.views; ++v)
    for (index_t q = 0; q < g.recon_rows * g.recon_cols; ++q) {
      auto const f = cone_views_of<Geometry>::at(s, v, q);
      if (f.channel.chord == 0) continue;  // beside or behind the source
      widest = std::max(widest, f.channel.width);
      tallest = std::max(tallest, f.row_width);
      lowest = std::min(lowest, f.row_width);
    }
  if (widest == 0) return {};
  return {tap_count(widest), tap_count(tallest), tap_count(1 / lowest)};
}

/// Left edge of the footprint of slice 0, in detector rows.
template <class T> T first_row_edge(cone_geometry const& g, cone_footprint<T> const& f, T z_shift) {
  return left_edge(detector_row(g, f.magnification, slice_z(g, T(0.0), z_shift)), f.row_width);
}

/// Vertical factor b(m; k) = sec(phi_k) T(m_p(k) - m; W_r).
template <class T, class I> T cone_row_weight(cone_geometry const& g, cone_footprint<T> const& f, T z, I row) {
  T const ratio = z * T(g.inverse_detector_dist);
  return elevation_secant(f.magnification * f.magnification, ratio * ratio) *
         overlap(detector_row(g, f.magnification, z) - as<T>(row), f.row_width);
}

/// y[v, m, n] += sum over p of a(v, n; p) sum over k of b(v, m; p, k) x[p, k]; y must be zero on entry.
/// columns is a temporary of shape (pixels, rows).
template <class M, class Geometry, class VoxelColumns, class Pixels, class Columns, class Sinogram>
void cone_forward(M& m, scan<Geometry> const& s, VoxelColumns x, Pixels pixels, index_t count, Columns columns,
                  Sinogram y) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  auto const views = cone_views_of<Geometry>::inputs(m, s);
  auto const column = m.input(columns);
  auto const taps = count_taps(s);
  m.loop("view", g.views, [&](I v) {
    m.each("rows", {"pixel", count}, {"row", g.rows}, [&](I p, I r) {
      auto const f = views.footprint(v, pixels.at(p));
      T const zeta = views.z_shift(v);
      I const first = first_cell((as<T>(r) - first_row_edge(g, f, zeta)) / f.row_width);
      T const total = m.taps("slice", taps.slices, [&](I t) {
        I const k = first + t;
        return within(k, g.slices, m.let("row weight", cone_row_weight(g, f, slice_z(g, as<T>(k), zeta), r))) *
               x.clamped(p, k);
      });
      m.store(columns, total, p, r);
    });
    m.each("channels", {"pixel", count}, {"row", g.rows}, [&](I p, I r) {
      auto const f = views.footprint(v, pixels.at(p));
      I const first = first_cell(left_edge(f.channel.centre, f.channel.width));
      m.loop("tap", taps.channels, [&](I t) {
        T const weight = m.let("channel weight",
                               f.channel.chord * overlap(f.channel.centre - as<T>(first + t), f.channel.width));
        m.add(y, weight * column.at(p, r), v, r, first + t);
      });
    });
  });
}

/// x[p, k] += sum over v, m, n of (a(v, n; p) b(v, m; p, k))^power y[v, m, n]; x must be zero on entry.
template <class M, class Geometry, class Sinogram, class Pixels, class Columns, class VoxelColumns>
void cone_back(M& m, scan<Geometry> const& s, Sinogram y, Pixels pixels, index_t count, int coeff_power,
               Columns columns, VoxelColumns x) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  auto const views = cone_views_of<Geometry>::inputs(m, s);
  auto const column = m.input(columns);
  auto const taps = count_taps(s);
  m.loop("view", g.views, [&](I v) {
    m.each("channels", {"pixel", count}, {"row", g.rows}, [&](I p, I r) {
      auto const f = views.footprint(v, pixels.at(p));
      I const first = first_cell(left_edge(f.channel.centre, f.channel.width));
      T const total = m.taps("tap", taps.channels, [&](I t) {
        I const n = first + t;
        T const weight = m.let("channel weight",
                               power(f.channel.chord * overlap(f.channel.centre - as<T>(n), f.channel.width),
                                     coeff_power));
        return within(n, g.channels, weight) * y.clamped(v, r, n);
      });
      m.store(columns, total, p, r);
    });
    m.each("rows", {"pixel", count}, {"slice", g.slices}, [&](I p, I k) {
      auto const f = views.footprint(v, pixels.at(p));
      T const zeta = views.z_shift(v);
      I const first = first_cell(first_row_edge(g, f, zeta) + as<T>(k) * f.row_width);
      T const total = m.taps("row", taps.rows, [&](I t) {
        I const r = first + t;
        return within(r, g.rows,
                      m.let("row weight", power(cone_row_weight(g, f, slice_z(g, as<T>(k), zeta), r), coeff_power))) *
               column.clamped(p, r);
      });
      m.add(x, total, p, k);
    });
  });
}

/// The columns between the two passes are a temporary of the interpreter.
template <> struct operators<cone_geometry> {
  static void forward(auto& m, cone_scan const& s, auto x, auto pixels, index_t count, auto y) {
    cone_forward(m, s, x, pixels, count, m.temporary("columns", {count, s.geometry().rows}), y);
  }
  static void back(auto& m, cone_scan const& s, auto y, auto pixels, index_t count, int coeff_power, auto x) {
    cone_back(m, s, y, pixels, count, coeff_power, m.temporary("columns", {count, s.geometry().rows}), x);
  }
};

}  // namespace mbirk::definition
