// Operators of multi-axis parallel beam as templates over an interpreter. Channels have the footprints of parallel
// beam, which all slices share, so channels and rows are resampled separately.
// Shapes: sinogram (views, rows, channels), voxel columns (pixels, slices), detector columns (pixels, rows) of one
// view.
#pragma once

#include <algorithm>

#include "mbirk/definition/multiaxis_rows.hpp"
#include "mbirk/definition/parallel.hpp"

namespace mbirk::definition {

/// Vertical footprints of pixel q at azimuth theta and elevation phi.
template <class T, class I> row_footprints<T> multiaxis_rows_at(multiaxis_geometry const& g, T theta, T phi, I q) {
  return multiaxis_rows(g, cos(theta), sin(theta), cos(phi), sin(phi), column_x(g, as<T>(q % I(g.recon_cols))),
                        row_y(g, as<T>(q / I(g.recon_cols))));
}

/// Upper bound on the rows of any footprint of a scan, computed on the host.
inline index_t multiaxis_row_taps(multiaxis_scan const& s) {
  double widest = 0;
  for (auto const& at : s.positions())
    widest = std::max(widest, multiaxis_rows(s.geometry(), at.cosine, at.sine, at.cos_elevation, at.sin_elevation, 0.0,
                                             0.0).width);
  return tap_count(widest);
}
template <class M> auto view_elevations(M& m, multiaxis_scan const& s) {
  return m.input(view<float const, 1>(s.views().elevations.data(), {s.geometry().views}), "elevations");
}

/// y[v, m, n] += sum over p of a(v, n; p) sum over k of b(v, m; p, k) x[p, k]; y must be zero on entry.
/// columns is a temporary of shape (pixels, rows). Slices are added to rows, because at an elevation of 90 degrees
/// every slice of a column may lie in the same row.
template <class M, class VoxelColumns, class Pixels, class Columns, class Sinogram>
void multiaxis_forward(M& m, multiaxis_scan const& s, VoxelColumns x, Pixels pixels, index_t count, Columns columns,
                       Sinogram y) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  auto const angles = view_angles(m, s), elevations = view_elevations(m, s);
  auto const column = m.input(columns);
  index_t const row_taps = multiaxis_row_taps(s);
  m.loop("view", g.views, [&](I v) {
    m.each("clear", {"pixel", count}, {"row", g.rows}, [&](I p, I r) { m.store(columns, T(0.0), p, r); });
    m.each("rows", {"pixel", count}, {"slice", g.slices}, [&](I p, I k) {
      auto const f = multiaxis_rows_at(g, angles.at(v), elevations.at(v), pixels.at(p));
      T const centre = f.centre + as<T>(k) * f.step;
      I const first = first_cell(left_edge(centre, f.width));
      m.loop("row", row_taps, [&](I t) {
        T const weight = m.let("row weight", f.height * overlap(centre - as<T>(first + t), f.width));
        m.add(columns, weight * x.at(p, k), p, first + t);
      });
    });
    m.each("channels", {"pixel", count}, {"row", g.rows}, [&](I p, I r) {
      auto const f = parallel_footprint_at(g, angles.at(v), pixels.at(p));
      I const first = first_cell(left_edge(f.centre, f.width));
      m.loop("tap", parallel_taps(g), [&](I t) {
        T const weight = m.let("channel weight", f.chord * overlap(f.centre - as<T>(first + t), f.width));
        m.add(y, weight * column.at(p, r), v, r, first + t);
      });
    });
  });
}

/// x[p, k] += sum over v, m, n of (a(v, n; p) b(v, m; p, k))^power y[v, m, n]; x must be zero on entry.
template <class M, class Sinogram, class Pixels, class Columns, class VoxelColumns>
void multiaxis_back(M& m, multiaxis_scan const& s, Sinogram y, Pixels pixels, index_t count, int coeff_power,
                    Columns columns, VoxelColumns x) {
  using T = typename M::real;
  using I = typename M::index;
  auto const& g = s.geometry();
  auto const angles = view_angles(m, s), elevations = view_elevations(m, s);
  auto const column = m.input(columns);
  index_t const row_taps = multiaxis_row_taps(s);
  m.loop("view", g.views, [&](I v) {
    m.each("channels", {"pixel", count}, {"row", g.rows}, [&](I p, I r) {
      auto const f = parallel_footprint_at(g, angles.at(v), pixels.at(p));
      I const first = first_cell(left_edge(f.centre, f.width));
      T const total = m.taps("tap", parallel_taps(g), [&](I t) {
        T const weight = m.let("channel weight",
                               power(f.chord * overlap(f.centre - as<T>(first + t), f.width), coeff_power));
        return within(first + t, g.channels, weight) * y.clamped(v, r, first + t);
      });
      m.store(columns, total, p, r);
    });
    m.each("rows", {"pixel", count}, {"slice", g.slices}, [&](I p, I k) {
      auto const f = multiaxis_rows_at(g, angles.at(v), elevations.at(v), pixels.at(p));
      T const centre = f.centre + as<T>(k) * f.step;
      I const first = first_cell(left_edge(centre, f.width));
      T const total = m.taps("row", row_taps, [&](I t) {
        T const weight =
            m.let("row weight", power(f.height * overlap(centre - as<T>(first + t), f.width), coeff_power));
        return within(first + t, g.rows, weight) * column.clamped(p, first + t);
      });
      m.add(x, total, p, k);
    });
  });
}

/// The columns between the two passes are a temporary of the interpreter.
template <> struct operators<multiaxis_geometry> {
  static void forward(auto& m, multiaxis_scan const& s, auto x, auto pixels, index_t count, auto y) {
    multiaxis_forward(m, s, x, pixels, count, m.temporary("columns", {count, s.geometry().rows}), y);
  }
  static void back(auto& m, multiaxis_scan const& s, auto y, auto pixels, index_t count, int coeff_power, auto x) {
    multiaxis_back(m, s, y, pixels, count, coeff_power, m.temporary("columns", {count, s.geometry().rows}), x);
  }
};

}  // namespace mbirk::definition
