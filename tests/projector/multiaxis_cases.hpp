// Scans with multi-axis parallel beam that reach every form of the kernels, and the accuracy of float32 on each.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/definition/multiaxis.hpp"
#include "mbirk/simd/pack.hpp"

namespace mbirk::test {

struct multiaxis_case {
  std::string name;
  multiaxis_parameters parameters;
};

/// Azimuths without symmetry, with elevations that repeat.
inline std::vector<float> some_axes(index_t views, std::vector<float> const& elevations) {
  std::vector<float> a;
  for (index_t v = 0; v < views; ++v) {
    a.push_back(-1.1f + 0.83f * static_cast<float>(v));
    a.push_back(elevations[static_cast<std::size_t>(v) % elevations.size()]);
  }
  return a;
}

inline std::vector<multiaxis_case> multiaxis_cases() {
  std::vector<float> const gentle{0.3f, -0.5f, 0.0f, 0.7f},
      steep{1.2f, 1.5707964f, -1.5707964f, 1.9f, 3.1415927f, -2.6f, 0.9f, 7.0f};
  auto const make = [](index_t views, index_t rows, index_t channels, std::array<index_t, 3> const& recon,
                       std::vector<float> const& elevations, double voxel) {
    multiaxis_parameters p;
    p.sinogram_shape = {views, rows, channels};
    p.angles = some_axes(views, elevations);
    p.delta_voxel = voxel;
    p.recon_shape = recon;
    return p;
  };
  std::vector<multiaxis_case> cases;
  auto const add = [&](char const* name, multiaxis_parameters const& p) { cases.push_back({name, p}); };
  auto p = make(7, 9, 13, {11, 12, 10}, gentle, 0.77);
  p.delta_det_channel = 0.9;
  p.delta_det_row = 1.1;
  p.det_channel_offset = 0.25;
  p.det_row_offset = -0.4;
  p.voxel_row_aspect = 1.2;
  p.voxel_slice_aspect = 0.9;
  p.recon_slice_offset = 0.63;
  add("odd", p);
  p.angles = some_axes(8, steep);
  p.sinogram_shape[0] = 8;
  add("steep", p);
  p.delta_det_row = 6;  // tall rows
  add("steep_tall_rows", p);
  p.delta_det_row = 0.2;
  p.sinogram_shape[1] = 41;
  add("steep_short_rows", p);
  p.angles = some_axes(8, {0.3f, -0.6f});
  add("short_rows", p);
  p.delta_det_row = 3;
  p.sinogram_shape[1] = 5;
  add("tall_rows", p);
  p.delta_det_row = 0.95;
  p.voxel_slice_aspect = 1.8;
  add("three_taps", p);
  add("wide", make(6, 7, 14, {9, 8, 5}, gentle, 1.6));
  add("widest", make(5, 7, 60, {9, 8, 5}, {0.3f, 1.4f}, 7));
  add("narrow", make(6, 6, 12, {20, 21, 13}, gentle, 0.3));
  add("truncated", make(6, 4, 6, {18, 17, 19}, steep, 1));
  add("many_slices", make(4, 70, 10, {7, 8, 130}, {0.4f, -0.2f, 1.3f, 2.0f}, 0.8));
  add("one_row", make(5, 1, 10, {9, 10, 7}, steep, 1));
  add("one_slice", make(5, 6, 10, {9, 10, 1}, steep, 1));
  add("one_channel", make(8, 5, 1, {9, 10, 5}, steep, 1));
  add("many_views", make(40, 6, 13, {11, 10, 5}, {0.5f, 0.6f}, 0.9));
  p = make(8, 6, 8, {1, 1, 5}, steep, 1.3);
  p.use_ror_mask = false;
  add("one_pixel", p);
  p = make(6, 5, 13, {11, 12, 4}, gentle, 1);
  p.recon_slice_offset = 40;  // no slice is seen
  add("unseen", p);
  return cases;
}

/// Worst-case error of float32 relative to the largest element: sums of as many positive products as there are, each
/// product with the roundings of two overlaps (differences of numbers of size 1 + W, at most min(1, W)), a chord and a
/// height. An overlap in the short forms of the resampling also has a position of 32 - log2(2 lanes) bits. In the
/// general form, a position is double.
inline double multiaxis_tolerance(multiaxis_scan const& s, bool towards_sinogram, int power) {
  auto const& g = s.geometry();
  double narrowest = 1e30, widest = 0, lowest = 1e30, tallest = 0, step = 1e30;
  for (auto const& at : s.positions()) {
    auto const a = definition::parallel_footprint(g, at.cosine, at.sine, 0.0, 0.0);
    auto const b = definition::multiaxis_rows(g, at.cosine, at.sine, at.cos_elevation, at.sin_elevation, 0.0, 0.0);
    narrowest = std::min(narrowest, a.width);
    widest = std::max(widest, std::min(a.width, static_cast<double>(g.channels + 2)));
    lowest = std::min(lowest, b.width);
    tallest = std::max(tallest, std::min(b.width, static_cast<double>(g.rows + 2)));
    step = std::min(step, std::abs(b.step));
  }
  double const views = static_cast<double>(g.views), slices = static_cast<double>(g.slices),
               side = static_cast<double>(std::max(g.recon_rows, g.recon_cols));
  double const sums = towards_sinogram
                          ? side * (2 + 1 / narrowest) + std::min(slices, (1 + tallest) / step + 2)
                          : views * (std::ceil(widest) + 1) + std::ceil(tallest) + 1;
  auto const overlap_error = [](double low, double high, double position) {
    return 2 * (1 + 3 * high + position) / std::min(1.0, low) + 4;
  };
  constexpr double lanes = simd::native_lanes, position = (lanes - 1) * 2 * lanes / 256;  // in units of 2^-24
  double const along = towards_sinogram ? overlap_error(1 / tallest, 1 / lowest, position)
                                        : overlap_error(lowest, tallest, position);
  return (sums + power * (overlap_error(narrowest, widest, 0) + along)) * 0x1p-24;
}

}  // namespace mbirk::test
