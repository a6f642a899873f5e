// Operators of general views as templates over an interpreter, from the vectors of the views.
// Shapes: sinogram (views, rows, channels), voxel columns (pixels, slices).
#pragma once

#include <algorithm>

#include "mbirk/definition/interpreter.hpp"
#include "mbirk/geometry/general.hpp"

namespace mbirk::definition {

/// A vector of an arithmetic type.
template <class T> struct vector_of {
  T x, y, z;
  friend vector_of operator+(vector_of const& a, vector_of const& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
  friend vector_of operator-(vector_of const& a, vector_of const& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
  friend vector_of operator*(vector_of const& a, T s) { return {a.x * s, a.y * s, a.z * s}; }
};
template <class T> T dot(vector_of<T> const& a, vector_of<T> const& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
template <class T> vector_of<T> cross(vector_of<T> const& a, vector_of<T> const& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/// Footprint of a voxel: a box in both directions of the detector, in cells, with amplitude times the overlaps as
/// weights.
template <class T> struct voxel_footprint {
  T channel, channel_width, row, row_width, amplitude;
};

/// With s the source, d the centre and u, v the steps of the detector, w = u x v, u* = v x w/|w|^2, v* = w x u/|w|^2, a
/// voxel at p is seen along q = p - s, meets the detector at h = s + lambda q - d of its centre, lambda = (d - s)w/qw,
/// at channel n = h u* + (C - 1)/2 and row m = h v* + (R - 1)/2; parallel rays have q = r, lambda = 1 and
/// h = p - d - r ((p - d)w)/(rw). With the gradients grad n = lambda (u* - w (q u*)/(qw)), grad m alike, and e over the
/// edges of a voxel,
///
///   W_c = max |grad n e|, W_r = max |grad m e|,
///   A(m, n) = V |grad n x grad m|/(W_c W_r) k(h) T(n - n'; W_c) T(m - m'; W_r),  V = delta_x delta_y delta_z.
///
/// V |grad n x grad m| = V lambda^2 |q|/|qw| is the image area of a box of volume V times the mean length of rays
/// in it. In MBIRJAX's cone beam, |q||w|/|qw| = sqrt(1 + a^2 + b^2), a and b the tangents of the ray across and along
/// the rows of the detector, is sqrt(1 + a^2) sqrt(1 + b^2), which is larger by up to (a b)^2/2 of it. So that a
/// circular scan as general views is that scan, k(h) is the ratio of both, divided by its value for the ray to the
/// detector's centre; it is 1 for parallel rays.
template <class T>
voxel_footprint<T> general_footprint(general_geometry const& g, vector_of<T> const& s, vector_of<T> const& d,
                                     vector_of<T> const& u, vector_of<T> const& v, vector_of<T> const& p) {
  auto const w = cross(u, v);
  T const per_square = T(1.0) / dot(w, w);
  auto const dual_u = cross(v, w) * per_square, dual_v = cross(w, u) * per_square;
  auto const q = g.parallel_rays ? s : p - s;
  T const along = dot(q, w), inverse = T(1.0) / along;
  T const lambda = g.parallel_rays ? T(1.0) : dot(d - s, w) * inverse;
  auto const h = g.parallel_rays ? p - d - q * (dot(p - d, w) * inverse) : s + q * lambda - d;
  auto const gradient = [&](vector_of<T> const& dual) { return (dual - w * (dot(q, dual) * inverse)) * lambda; };
  auto const extent = [&](vector_of<T> const& a) {
    return max(max(abs(a.x) * T(g.delta_x), abs(a.y) * T(g.delta_y)), abs(a.z) * T(g.delta_z));
  };
  T const wide = extent(gradient(dual_u)), tall = extent(gradient(dual_v));
  // sqrt((1 + a^2)(1 + b^2)/(1 + a^2 + b^2)) of a ray, from its components across and along the rows and the normal.
  auto const ratio = [&](vector_of<T> const& ray) {
    T const normal = dot(ray, w) * dot(ray, w) * per_square, total = dot(ray, ray);
    T const across = dot(ray, u) * dot(ray, u) / dot(u, u);
    T const upright = total - normal - across;
    return sqrt((normal + across) * (normal + upright) / (normal * total));
  };
  T const factor = g.parallel_rays ? T(1.0) : ratio(q) / ratio(d - s);
  T const area = T(g.delta_x * g.delta_y * g.delta_z) * lambda * lambda * sqrt(dot(q, q)) * abs(inverse);
  return {dot(h, dual_u) + T(0.5 * static_cast<double>(g.channels - 1)), wide,
          dot(h, dual_v) + T(0.5 * static_cast<double>(g.rows - 1)), tall, area * factor / (wide * tall)};
}

/// Footprints of the voxels of a scan: at(v, q, k) of pixel q and slice k in view v.
template <class M> auto general_footprints(M& m, general_scan const& s) {
  using T = typename M::real;
  using I = typename M::index;
  auto const g = s.geometry();
  auto const vectors = m.input(view<double const, 2>(s.views().view_vectors.data(), {g.views, 12}), "view_vectors");
  return [g, vectors](I v, I q, I k) {
    auto const three = [&](index_t first) {
      return vector_of<T>{vectors.at(v, I(first)), vectors.at(v, I(first + 1)), vectors.at(v, I(first + 2))};
    };
    T const z = T(g.delta_z) * (as<T>(k) - T(0.5 * static_cast<double>(g.slices - 1))) + T(g.recon_slice_offset);
    vector_of<T> const p{column_x(g, as<T>(q % I(g.recon_cols))), row_y(g, as<T>(q / I(g.recon_cols))), z};
    return general_footprint(g, three(0), three(3), three(6), three(9), p);
  };
}

/// Upper bounds on the rows and channels of any footprint of a scan, computed on the host.
struct general_taps { index_t rows = 1, channels = 1; };
inline general_taps count_taps(general_scan const& s) {
  general_taps taps;
  for (auto const& at : s.positions()) {
    taps.rows = std::max(taps.rows, tap_count(at.row_width));
    taps.channels = std::max(taps.channels, tap_count(at.channel_width));
  }
  return taps;
}

template <> struct operators<general_geometry> {
  /// y[v, m, n] += sum over p, k of A(v, m, n; p, k) x[p, k]; y must be zero on entry.
  static void forward(auto& m, general_scan const& s, auto x, auto pixels, index_t count, auto y) {
    using M = std::remove_reference_t<decltype(m)>;
    using T = typename M::real;
    using I = typename M::index;
    auto const& g = s.geometry();
    auto const footprints = general_footprints(m, s);
    auto const taps = count_taps(s);
    m.loop("view", g.views, [&](I v) {
      m.each("voxels", {"pixel", count}, {"slice", g.slices}, [&](I p, I k) {
        auto const f = footprints(v, pixels.at(p), k);
        T const value = f.amplitude * x.at(p, k);
        I const row = first_cell(left_edge(f.row, f.row_width)),
                channel = first_cell(left_edge(f.channel, f.channel_width));
        m.loop("row", taps.rows, [&](I t) {
          T const row_weight = m.let("row weight", overlap(f.row - as<T>(row + t), f.row_width));
          m.loop("channel", taps.channels, [&](I c) {
            T const weight = m.let("channel weight", overlap(f.channel - as<T>(channel + c), f.channel_width));
            m.add(y, weight * row_weight * value, v, row + t, channel + c);
          });
        });
      });
    });
  }
  /// x[p, k] += sum over v, m, n of A(v, m, n; p, k)^power y[v, m, n]; x must be zero on entry.
  static void back(auto& m, general_scan const& s, auto y, auto pixels, index_t count, int coeff_power, auto x) {
    using M = std::remove_reference_t<decltype(m)>;
    using T = typename M::real;
    using I = typename M::index;
    auto const& g = s.geometry();
    auto const footprints = general_footprints(m, s);
    auto const taps = count_taps(s);
    m.loop("view", g.views, [&](I v) {
      m.each("voxels", {"pixel", count}, {"slice", g.slices}, [&](I p, I k) {
        auto const f = footprints(v, pixels.at(p), k);
        I const row = first_cell(left_edge(f.row, f.row_width)),
                channel = first_cell(left_edge(f.channel, f.channel_width));
        T const total = m.taps("row", taps.rows, [&](I t) {
          T const row_weight = power(m.let("row weight", overlap(f.row - as<T>(row + t), f.row_width)), coeff_power);
          T const sum = m.taps("channel", taps.channels, [&](I c) {
            T const weight = power(
                m.let("channel weight", overlap(f.channel - as<T>(channel + c), f.channel_width)), coeff_power);
            return within(channel + c, g.channels, weight) * y.clamped(v, row + t, channel + c);
          });
          return within(row + t, g.rows, row_weight) * sum;
        });
        m.add(x, power(f.amplitude, coeff_power) * total, p, k);
      });
    });
  }
};

}  // namespace mbirk::definition
