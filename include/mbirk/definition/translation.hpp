// Operators of translation as templates over an interpreter: those of cone beam, with footprints of their own.
#pragma once

#include <type_traits>

#include "mbirk/definition/cone.hpp"
#include "mbirk/geometry/translation.hpp"

namespace mbirk::definition {

/// Footprint of pixel q of an object shifted by (tx, ty): with x = x_j - tx, y = y_i - ty and g = 1/(1/M - y/D), it is
/// centred at u = g x, g delta_x wide, and its chord is delta_y sqrt(1 + (u/D)^2).
/// (MBIRJAX)
template <class T, class I> cone_footprint<T> translation_footprint(cone_geometry const& g, T tx, T ty, I q) {
  T const x = column_x(g, as<T>(q % I(g.recon_cols))) - tx;
  T const y = row_y(g, as<T>(q / I(g.recon_cols))) - ty;
  T const depth = T(g.inverse_magnification) - y * T(g.inverse_detector_dist);
  T const magnification = T(1.0) / depth, u = magnification * x, slope = u * T(g.inverse_detector_dist);
  return {{detector_cell(u, g.det_channel_offset, g.delta_det_channel, g.channels),
           magnification * T(g.delta_x / g.delta_det_channel), T(g.delta_y) * sqrt(T(1.0) + slope * slope)},
          magnification, magnification * T(g.delta_z / g.delta_det_row), depth * T(g.delta_det_row / g.delta_z)};
}

template <class T> cone_footprint<T> cone_footprint_at(translation_scan const& s, index_t v, index_t q) {
  auto const* t = &s.views().translation_vectors[static_cast<std::size_t>(3 * v)];
  return translation_footprint(s.geometry(), static_cast<T>(t[0]), static_cast<T>(t[1]), q);
}
template <> struct cone_views_of<translation_geometry> {
  static auto inputs(auto& m, translation_scan const& s) {
    using I = typename std::remove_reference_t<decltype(m)>::index;
    view<float const, 2> const list(s.views().translation_vectors.data(), {s.geometry().views, 3});
    auto const vectors = m.input(list, "translation_vectors");
    return cone_views{[vectors, g = s.geometry()](auto v, auto q) {
                        auto const tx = vectors.at(v, I(0)), ty = vectors.at(v, I(1));
                        return translation_footprint(g, tx, ty, q);
                      },
                      [vectors](auto v) { return vectors.at(v, I(2)); }};
  }
  static auto at(translation_scan const& s, index_t v, index_t q) { return cone_footprint_at<double>(s, v, q); }
};

template <> struct operators<translation_geometry> {
  static void forward(auto& m, translation_scan const& s, auto x, auto pixels, index_t count, auto y) {
    cone_forward(m, s, x, pixels, count, m.temporary("columns", {count, s.geometry().rows}), y);
  }
  static void back(auto& m, translation_scan const& s, auto y, auto pixels, index_t count, int coeff_power, auto x) {
    cone_back(m, s, y, pixels, count, coeff_power, m.temporary("columns", {count, s.geometry().rows}), x);
  }
};

}  // namespace mbirk::definition
