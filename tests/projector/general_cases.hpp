// General views that reach every form of the kernels, and the accuracy of float32 on each.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "mbirk/geometry/general.hpp"
#include "mbirk/simd/pack.hpp"

namespace mbirk::test {

struct general_case {
  std::string name;
  general_parameters parameters;
};

/// A circular cone-beam scan with every length and offset of its own; det_row_offset is 0, so that the amplitudes are
/// those of the cone beam exactly.
inline cone_parameters some_circular_cone() {
  cone_parameters p{.sinogram_shape = {5, 9, 14}, .angles = {0.1f, 1.0f, 2.0f, 3.5f, 5.0f}, .source_detector_dist = 60,
                    .source_iso_dist = 33};
  p.delta_det_channel = 1.1, p.delta_det_row = 0.8, p.det_channel_offset = 0.37;
  p.delta_voxel = 0.8, p.voxel_row_aspect = 1.2, p.voxel_slice_aspect = 0.9, p.recon_slice_offset = 0.6;
  p.recon_shape = {{11, 12, 10}};
  return p;
}

/// Tilts the rows of the detectors by so little that results do not change, but views are not upright.
inline general_parameters tilted(general_parameters p) {
  for (std::size_t v = 0; v < p.view_vectors.size(); v += 12)
    for (std::size_t k = v + 6; k < v + 9; ++k) p.view_vectors[k + 3] += 1e-8 * p.view_vectors[k];
  return p;
}
/// Moves every number of the views a little, so that no two views and no two directions are alike.
inline void disturb(general_parameters& p, double part) {
  for (std::size_t k = 0; k < p.view_vectors.size(); ++k)
    p.view_vectors[k] += part * std::sin(1.7 * static_cast<double>(k)) * (k % 12 < 6 && !p.parallel_rays ? 10 : 1);
}
/// Turns the detectors by a right angle in their planes: rows become channels.
inline void turn_detectors(general_parameters& p) {
  for (std::size_t v = 0; v < p.view_vectors.size(); v += 12)
    for (std::size_t k = v + 6; k < v + 9; ++k) {
      std::swap(p.view_vectors[k], p.view_vectors[k + 3]);
      p.view_vectors[k + 3] = -p.view_vectors[k + 3];
    }
  std::swap(p.sinogram_shape[1], p.sinogram_shape[2]);
}

inline std::vector<general_case> general_cases() {
  std::vector<general_case> cases;
  auto const add = [&](char const* name, general_parameters const& p) { cases.push_back({name, p}); };
  add("typical", general_geometry::typical_scan({7, 9, 13}));
  auto const circular = to_general(some_circular_cone());
  add("circular", circular);
  {
    auto cone = some_circular_cone();
    cone.helical_z_shifts = {-1, 0.5f, 2, 0.25f, -0.125f};
    cone.det_row_offset = -0.4;
    add("helical", to_general(cone));
  }
  auto p = circular;
  disturb(p, 0.1);
  add("odd", p);
  turn_detectors(p);
  add("turned", p);
  p = circular;
  disturb(p, 0.1);
  for (std::size_t k = 0; k < p.view_vectors.size(); ++k)
    if (k % 12 >= 9) p.view_vectors[k] = -p.view_vectors[k];
  add("falling", p);  // rows fall with the slices
  p = circular;
  disturb(p, 0.1);
  p.delta_voxel = 0.3;
  add("narrow", p);
  p.delta_voxel = 1.5, p.recon_shape = {{6, 7, 5}};
  add("wide", p);
  p.delta_voxel = 4;
  add("widest", p);
  p.delta_voxel = 0.8, p.recon_shape = {{18, 17, 19}}, p.use_ror_mask = false;
  add("truncated", p);
  p.recon_shape = {{7, 8, 1}};
  add("one_slice", p);
  p.recon_shape = {{1, 1, 5}};
  add("one_pixel", p);
  p = circular;
  disturb(p, 0.05);
  p.sinogram_shape = {5, 1, 14};
  add("one_row", p);
  p.sinogram_shape = {5, 9, 1};
  add("one_channel", p);
  p.sinogram_shape = {5, 9, 14}, p.recon_slice_offset = 6;
  add("hardly_seen", p);
  p = to_general(some_circular_cone());
  disturb(p, 0.02);
  p.recon_shape = {{5, 6, 70}}, p.recon_slice_offset = 0;
  p.voxel_slice_aspect = 0.2;
  add("many_slices", p);

  parallel_parameters parallel{.sinogram_shape = {6, 9, 14}, .angles = {0.1f, 1, 2, 3.5f, 5, 0}};
  parallel.delta_voxel = 0.77, parallel.recon_shape = {{11, 12, 9}}, parallel.det_channel_offset = 0.25;
  auto const rays = to_general(parallel);
  add("parallel", rays);
  p = rays;
  disturb(p, 0.1);
  add("parallel_odd", p);
  multiaxis_parameters multiaxis;
  multiaxis.sinogram_shape = {5, 9, 13};
  multiaxis.angles = {0.1f, 0.3f, 1, -0.5f, 2, 1.2f, 3.5f, 1.57f, 5, 2.5f};
  multiaxis.delta_voxel = 0.77, multiaxis.recon_shape = {{11, 12, 9}};
  multiaxis.delta_det_row = 1.1, multiaxis.det_row_offset = 0.3;
  add("multiaxis", to_general(multiaxis));
  p = to_general(multiaxis);
  turn_detectors(p);
  add("multiaxis_turned", p);  // columns of voxels along the rows of the detector
  translation_parameters translation{.sinogram_shape = {5, 7, 13},
                                     .translation_vectors = {0, 0, 0, 1.3f, -2.5f, 0.4f, -2, 1.5f, -1.1f, 0.5f, 0.3f,
                                                             3, 4, 1, -2}};
  translation.source_detector_dist = 60, translation.source_iso_dist = 33, translation.delta_voxel = 0.71;
  translation.voxel_row_aspect = 1.5, translation.recon_shape = {{5, 11, 9}};
  add("translation", to_general(translation));
  return cases;
}

/// Worst-case error of float32 relative to the largest element: a count of roundings times 2^-24.
///
/// - sums: forward, every pixel that a cell sees is added once for three of its slices, and lines of pixels are counted
///   as in parallel beam; back, every view adds its channels and rows.
/// - overlaps are differences of numbers of size 1 + W, at most min(1, W), with widths of some roundings. The kernels
///   of cone beam and multi-axis parallel beam have positions of 32 - log2(2 lanes) bits along the rows.
/// - amplitude: two extents, which are differences of numbers that are hardly larger, two secants, a quotient.
inline double general_tolerance(general_scan const& s, bool towards_sinogram, int power) {
  auto const& g = s.geometry();
  double narrowest = 1e30, widest = 0, lowest = 1e30, tallest = 0;
  for (auto const& at : s.positions()) {
    detail::each_corner(g, 0, [&](double j, double i, double k) {
      double const depth = detail::value_at(at.depth, j, i, k);
      auto const extent = [&](voxel_affine const& a) {
        return detail::largest_step(a, at.depth, detail::value_at(a, j, i, k) / depth) / depth;
      };
      narrowest = std::min(narrowest, extent(at.channel));
      lowest = std::min(lowest, extent(at.row));
    });
    widest = std::max(widest, std::min(at.channel_width, static_cast<double>(g.channels + 2)));
    tallest = std::max(tallest, std::min(at.row_width, static_cast<double>(g.rows + 2)));
  }
  double const views = static_cast<double>(g.views), slices = static_cast<double>(g.slices),
               side = static_cast<double>(std::max(g.recon_rows, g.recon_cols));
  double const sums = towards_sinogram ? side * (2 + 1 / narrowest) * (1 + slices / 3)
                                       : views * (std::ceil(widest) + 1) + std::ceil(tallest) + 1;
  constexpr double lanes = simd::native_lanes, position = (lanes - 1) * 2 * lanes / 256;  // in units of 2^-24
  auto const overlap_error = [](double low, double high, double at) {
    return 2 * (1 + 6 * high + at) / std::min(1.0, low) + 4;
  };
  double const along = towards_sinogram ? overlap_error(1 / tallest, 1 / lowest, position)
                                        : overlap_error(lowest, tallest, position);
  return (sums + power * (overlap_error(narrowest, widest, 0) + overlap_error(lowest, tallest, 0) + along + 16)) *
         0x1p-24;
}

}  // namespace mbirk::test
