// The views of other geometries as general views, and the typical scan of general views.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

#include "mbirk/geometry/cone.hpp"
#include "mbirk/geometry/general.hpp"
#include "mbirk/geometry/multiaxis.hpp"
#include "mbirk/geometry/translation.hpp"

namespace mbirk {
namespace detail {

inline void add_view(std::vector<double>& vectors, vector3 const& source, vector3 const& detector, vector3 const& u,
                     vector3 const& v) {
  for (auto const& part : {source, detector, u, v}) vectors.insert(vectors.end(), {part.x, part.y, part.z});
}

/// Directions of a gantry at an angle: across the rays, and from the detector to the source.
struct gantry_axes {
  vector3 across, towards_source;
  explicit gantry_axes(double angle)
      : across{std::cos(angle), -std::sin(angle), 0}, towards_source{std::sin(angle), std::cos(angle), 0} {}
};

template <class Other>
general_parameters with_grid_of(Other const& p, std::array<index_t, 3> const& shape, double delta,
                                std::vector<double> vectors, bool parallel_rays) {
  return {.sinogram_shape = p.sinogram_shape, .view_vectors = std::move(vectors), .parallel_rays = parallel_rays,
          .delta_voxel = delta, .voxel_row_aspect = p.voxel_row_aspect, .voxel_slice_aspect = p.voxel_slice_aspect,
          .recon_shape = shape, .use_ror_mask = p.use_ror_mask};
}

}  // namespace detail

// With e_u = (cos, -sin, 0) and e_y = (sin, cos, 0) of the angle of a view and zeta its z shift:
//
//   cone         source D_0 e_y + zeta z, detector (D_0 - D) e_y - o_c e_u + (zeta - o_r) z, steps delta_c e_u and
//                delta_r z
//   parallel     rays -e_y, detector -o_c e_u, steps delta_c e_u, delta_z z (rows are slices)
//   multi-axis   with e_v = sin(phi) e_y + cos(phi) z: rays -cos(phi) e_y + sin(phi) z, detector -o_c e_u - o_r e_v,
//                steps delta_c e_u, delta_r e_v
//   translation  those of the cone at angle 0, source and detector moved by t

/// The same scan as general views. Its projections equal those of cone_scan(p) up to rounding where
/// |v| max(delta_x, delta_y) <= D delta_z, v the height of a voxel's image over the plane of the source: elsewhere the
/// footprint of general views is taller. With both det_channel_offset and det_row_offset, its amplitude differs by
/// (o_c o_r/D^2)^2/2 at most.
/// @throws parameter_error for a curved detector or an infinite distance, and whatever cone_scan throws.
MBIRK_COLD inline general_parameters to_general(cone_parameters const& p) {
  auto const g = make_geometry(p);
  require(!p.use_curved_detector, [] {
    return "use_curved_detector is true, expected false: general views have flat detectors";
  });
  require(std::isfinite(p.source_detector_dist), [] {
    return "source_detector_dist is infinite, expected a finite distance to a source";
  });
  std::vector<double> vectors;
  for (std::size_t v = 0; v < p.angles.size(); ++v) {
    detail::gantry_axes const at(p.angles[v]);
    vector3 const z{0, 0, p.helical_z_shifts.empty() ? 0.0 : static_cast<double>(p.helical_z_shifts[v])};
    detail::add_view(vectors, at.towards_source * p.source_iso_dist + z,
                     at.towards_source * (p.source_iso_dist - p.source_detector_dist) -
                         at.across * p.det_channel_offset + z - vector3{0, 0, p.det_row_offset},
                     at.across * p.delta_det_channel, {0, 0, p.delta_det_row});
  }
  auto general = detail::with_grid_of(p, {g.recon_rows, g.recon_cols, g.slices}, g.delta_x, std::move(vectors), false);
  general.recon_slice_offset = g.recon_slice_offset;
  return general;
}

/// The same scan as general views, with parallel rays. Its projections equal those of parallel_scan(p) up to rounding.
MBIRK_COLD inline general_parameters to_general(parallel_parameters const& p) {
  auto const g = make_geometry(p);
  std::vector<double> vectors;
  for (double const angle : p.angles) {
    detail::gantry_axes const at(angle);
    detail::add_view(vectors, at.towards_source * -1, at.across * -p.det_channel_offset,
                     at.across * p.delta_det_channel, {0, 0, g.delta_x});
  }
  return detail::with_grid_of(p, {g.recon_rows, g.recon_cols, g.slices}, g.delta_x, std::move(vectors), true);
}

/// The same scan as general views, with parallel rays. Its projections equal those of multiaxis_scan(p) up to rounding.
MBIRK_COLD inline general_parameters to_general(multiaxis_parameters const& p) {
  auto const g = make_geometry(p);
  std::vector<double> vectors;
  for (std::size_t v = 0; v + 1 < p.angles.size(); v += 2) {
    detail::gantry_axes const at(p.angles[v]);
    double const c = std::cos(static_cast<double>(p.angles[v + 1])), s = std::sin(static_cast<double>(p.angles[v + 1]));
    vector3 const up = at.towards_source * s + vector3{0, 0, c};
    detail::add_view(vectors, at.towards_source * -c + vector3{0, 0, s},
                     at.across * -p.det_channel_offset - up * p.det_row_offset, at.across * p.delta_det_channel,
                     up * p.delta_det_row);
  }
  auto general = detail::with_grid_of(p, {g.recon_rows, g.recon_cols, g.slices}, g.delta_x, std::move(vectors), true);
  general.recon_slice_offset = p.recon_slice_offset;
  return general;
}

/// The same scan as general views. Its projections equal those of translation_scan(p) up to rounding where
/// |u| delta_y <= D delta_x and |v| delta_y <= D delta_z, (u, v) the place of a voxel on the detector: elsewhere
/// the footprint of general views is wider.
MBIRK_COLD inline general_parameters to_general(translation_parameters const& p) {
  auto const g = make_geometry(p);
  std::vector<double> vectors;
  for (std::size_t v = 0; v + 2 < p.translation_vectors.size(); v += 3) {
    auto const* at = &p.translation_vectors[v];
    vector3 const t{at[0], at[1], at[2]};
    detail::add_view(vectors, t + vector3{0, p.source_iso_dist, 0},
                     t + vector3{-p.det_channel_offset, p.source_iso_dist - p.source_detector_dist, -p.det_row_offset},
                     {p.delta_det_channel, 0, 0}, {0, 0, p.delta_det_row});
  }
  return {.sinogram_shape = p.sinogram_shape, .view_vectors = std::move(vectors), .delta_voxel = g.delta_x,
          .voxel_row_aspect = g.delta_y / g.delta_x, .voxel_slice_aspect = p.voxel_slice_aspect,
          .recon_shape = std::array<index_t, 3>{g.recon_rows, g.recon_cols, g.slices},
          .use_ror_mask = p.use_ror_mask};
}

/// A circular cone-beam scan over a full turn with a magnification of 2, whose detector is rolled by 2 and pitched by 1
/// degree, for profiles and benchmarks.
inline general_parameters general_geometry::typical_scan(std::array<index_t, 3> const& sinogram_shape) {
  auto p = to_general(cone_geometry::typical_scan(sinogram_shape));
  double const roll = std::numbers::pi / 90, pitch = std::numbers::pi / 180;
  for (std::size_t v = 0; v < p.view_vectors.size(); v += 12) {
    auto* const at = &p.view_vectors[v];
    vector3 const u{at[6], at[7], at[8]}, up{at[9], at[10], at[11]}, depth{at[0], at[1], at[2]};
    vector3 const rolled = u * std::cos(roll) + up * std::sin(roll),
                  pitched = (up * std::cos(roll) - u * std::sin(roll)) * std::cos(pitch) +
                            depth * (std::sin(pitch) / length(depth));
    for (auto const& [place, to] : {std::pair{6, rolled}, std::pair{9, pitched}}) {
      at[place] = to.x;
      at[place + 1] = to.y;
      at[place + 2] = to.z;
    }
  }
  return p;
}

}  // namespace mbirk
