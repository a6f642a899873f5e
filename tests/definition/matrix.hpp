// The matrix of a projector written out, A = a(v, n; i, j) b(v, m; i, j, k), with the angles and offsets of the
// specification and none of the definition's shortcuts (taps, windows, tangents instead of angles). The time of an
// element does not depend on the width of its footprint.
#pragma once

#include <algorithm>
#include <cmath>

#include "mbirk/core/vector3.hpp"
#include "mbirk/geometry/general.hpp"
#include "mbirk/geometry/multiaxis.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/geometry/translation.hpp"

namespace mbirk::test {

/// Length of overlap of a unit cell and a box of this width whose centres are d apart.
inline double overlap_of(double d, double width) {
  return std::max(0.0, std::min(d + 0.5, width / 2) - std::max(d - 0.5, -width / 2));
}

inline double matrix_element(parallel_parameters const& p, index_t v, index_t m, index_t n, index_t i, index_t j,
                             index_t k) {
  double const dx = *p.delta_voxel, dy = p.voxel_row_aspect * dx, theta = p.angles[static_cast<std::size_t>(v)];
  auto const middle = [](index_t cells) { return static_cast<double>(cells - 1) / 2; };
  double const x = dx * (static_cast<double>(j) - middle((*p.recon_shape)[1])),
               y = dy * (static_cast<double>(i) - middle((*p.recon_shape)[0]));
  double const centre = (std::cos(theta) * x - std::sin(theta) * y + p.det_channel_offset) / p.delta_det_channel +
                        middle(p.sinogram_shape[2]);
  double const extent = std::max(std::abs(std::cos(theta)) * dx, std::abs(std::sin(theta)) * dy);
  return k == m ? dx * dy / extent * overlap_of(centre - static_cast<double>(n), extent / p.delta_det_channel) : 0;
}

inline double matrix_element(cone_parameters const& p, index_t v, index_t m, index_t n, index_t i, index_t j,
                             index_t k) {
  auto const middle = [](index_t cells) { return static_cast<double>(cells - 1) / 2; };
  double const dist = p.source_detector_dist, magnification = std::isinf(dist) ? 1 : dist / p.source_iso_dist;
  double const dx = *p.delta_voxel, dy = p.voxel_row_aspect * dx, dz = p.voxel_slice_aspect * dx,
               theta = p.angles[static_cast<std::size_t>(v)];
  double const zeta = p.helical_z_shifts.empty() ? 0 : p.helical_z_shifts[static_cast<std::size_t>(v)];
  double const across = dx * (static_cast<double>(j) - middle((*p.recon_shape)[1])),
               down = dy * (static_cast<double>(i) - middle((*p.recon_shape)[0]));
  double const z = dz * (static_cast<double>(k) - middle((*p.recon_shape)[2])) + *p.recon_slice_offset - zeta;
  double const x = std::cos(theta) * across - std::sin(theta) * down,
               y = std::sin(theta) * across + std::cos(theta) * down;
  double const g = 1 / (1 / magnification - y / dist);
  double const u = p.use_curved_detector ? dist * std::atan2(x, dist / magnification - y) : g * x;
  double const beta = p.use_curved_detector ? u / dist : std::atan2(u, dist),
               kappa = p.use_curved_detector ? 1 : std::cos(beta);
  double const centre = (u + p.det_channel_offset) / p.delta_det_channel + middle(p.sinogram_shape[2]);
  double const extent = std::max(std::abs(std::cos(theta - beta)) * dx, std::abs(std::sin(theta - beta)) * dy);
  double const a =
      dx * dy / extent * overlap_of(centre - static_cast<double>(n), g * extent / (p.delta_det_channel * kappa));
  double const row = (g * z + p.det_row_offset) / p.delta_det_row + middle(p.sinogram_shape[1]),
               secant = std::sqrt(1 + std::pow(g * z / dist, 2));
  return a * secant * overlap_of(row - static_cast<double>(m), g * dz / p.delta_det_row);
}

/// The same with the angles of a flat cone that does not turn, and without its maximum: F = delta_x cos(beta).
inline double matrix_element(translation_parameters const& p, index_t v, index_t m, index_t n, index_t i, index_t j,
                             index_t k) {
  auto const middle = [](index_t cells) { return static_cast<double>(cells - 1) / 2; };
  auto const t = [&](index_t axis) {
    return static_cast<double>(p.translation_vectors[static_cast<std::size_t>(3 * v + axis)]);
  };
  double const dist = p.source_detector_dist, dx = *p.delta_voxel, dy = *p.voxel_row_aspect * dx,
               dz = p.voxel_slice_aspect * dx;
  double const x = dx * (static_cast<double>(j) - middle((*p.recon_shape)[1])) - t(0),
               y = dy * (static_cast<double>(i) - middle((*p.recon_shape)[0])) - t(1),
               z = dz * (static_cast<double>(k) - middle((*p.recon_shape)[2])) - t(2);
  double const g = dist / (p.source_iso_dist - y), u = g * x, beta = std::atan2(u, dist), phi = std::atan2(g * z, dist);
  double const centre = (u + p.det_channel_offset) / p.delta_det_channel + middle(p.sinogram_shape[2]),
               row = (g * z + p.det_row_offset) / p.delta_det_row + middle(p.sinogram_shape[1]);
  return dy / std::cos(beta) * overlap_of(centre - static_cast<double>(n), g * dx / p.delta_det_channel) /
         std::cos(phi) * overlap_of(row - static_cast<double>(m), g * dz / p.delta_det_row);
}

/// Parallel beam at an elevation phi: with y towards the source, rows are along y sin(phi) + z cos(phi).
inline double matrix_element(multiaxis_parameters const& p, index_t v, index_t m, index_t n, index_t i, index_t j,
                             index_t k) {
  auto const middle = [](index_t cells) { return static_cast<double>(cells - 1) / 2; };
  double const theta = p.angles[static_cast<std::size_t>(2 * v)], phi = p.angles[static_cast<std::size_t>(2 * v + 1)];
  double const dx = *p.delta_voxel, dy = p.voxel_row_aspect * dx, dz = p.voxel_slice_aspect * dx;
  double const across = dx * (static_cast<double>(j) - middle((*p.recon_shape)[1])),
               down = dy * (static_cast<double>(i) - middle((*p.recon_shape)[0])),
               z = dz * (static_cast<double>(k) - middle((*p.recon_shape)[2])) + p.recon_slice_offset;
  double const x = std::cos(theta) * across - std::sin(theta) * down,
               y = std::sin(theta) * across + std::cos(theta) * down;
  double const centre = (x + p.det_channel_offset) / p.delta_det_channel + middle(p.sinogram_shape[2]),
               row = (z * std::cos(phi) + y * std::sin(phi) + p.det_row_offset) / p.delta_det_row +
                     middle(p.sinogram_shape[1]);
  double const wide = std::max(std::abs(std::cos(theta)) * dx, std::abs(std::sin(theta)) * dy),
               tall = std::max({std::abs(std::cos(phi)) * dz, std::abs(std::sin(phi) * std::sin(theta)) * dx,
                                std::abs(std::sin(phi) * std::cos(theta)) * dy});
  return dx * dy / wide * overlap_of(centre - static_cast<double>(n), wide / p.delta_det_channel) * dz / tall *
         overlap_of(row - static_cast<double>(m), tall / p.delta_det_row);
}

/// General views: the place of a voxel on the detector and how it changes along the edges of the voxel, each from
/// where a ray meets the plane of the detector.
inline double matrix_element(general_parameters const& p, index_t v, index_t m, index_t n, index_t i, index_t j,
                             index_t k) {
  auto const* const at = &p.view_vectors[static_cast<std::size_t>(12 * v)];
  auto const three = [&](int first) { return vector3{at[first], at[first + 1], at[first + 2]}; };
  vector3 const first = three(0), detector = three(3), u = three(6), rows = three(9), normal = cross(u, rows);
  auto const middle = [](index_t cells) { return static_cast<double>(cells - 1) / 2; };
  double const dx = *p.delta_voxel, dy = p.voxel_row_aspect * dx, dz = p.voxel_slice_aspect * dx;
  vector3 const voxel{dx * (static_cast<double>(j) - middle((*p.recon_shape)[1])),
                      dy * (static_cast<double>(i) - middle((*p.recon_shape)[0])),
                      dz * (static_cast<double>(k) - middle((*p.recon_shape)[2])) + p.recon_slice_offset};
  vector3 const ray = p.parallel_rays ? first : voxel - first;
  // The components of a vector in the directions u, rows and ray, by Cramer's rule.
  double const volume = dot(u, cross(rows, ray));
  auto const channels_of = [&](vector3 const& x) { return dot(x, cross(rows, ray)) / volume; };
  auto const rows_of = [&](vector3 const& x) { return dot(u, cross(x, ray)) / volume; };
  double const nearer = p.parallel_rays ? 1 : dot(detector - first, normal) / dot(ray, normal);
  double const centre = channels_of(voxel - detector) + middle(p.sinogram_shape[2]),
               row = rows_of(voxel - detector) + middle(p.sinogram_shape[1]);
  double wide = 0, tall = 0;
  for (auto const& edge : {vector3{dx, 0, 0}, vector3{0, dy, 0}, vector3{0, 0, dz}}) {
    wide = std::max(wide, std::abs(nearer * channels_of(edge)));
    tall = std::max(tall, std::abs(nearer * rows_of(edge)));
  }
  // The area of the image of a box per volume and length of a ray in it, nearer^2 |ray|/|volume|, and for cone beam
  // the secants of MBIRJAX in place of that of the ray, relative to those at the detector's centre.
  auto const secants = [&](vector3 const& x) {
    auto const across = u / length(u), up = cross(normal, across) / length(normal);
    double const depth = dot(x, normal) / length(normal), a = dot(x, across) / depth, b = dot(x, up) / depth;
    return std::sqrt((1 + a * a) * (1 + b * b) / (1 + a * a + b * b));
  };
  double const factor = p.parallel_rays ? 1 : secants(ray) / secants(detector - first);
  return dx * dy * dz * nearer * nearer * length(ray) / std::abs(volume) / (wide * tall) * factor *
         overlap_of(centre - static_cast<double>(n), wide) * overlap_of(row - static_cast<double>(m), tall);
}

}  // namespace mbirk::test
