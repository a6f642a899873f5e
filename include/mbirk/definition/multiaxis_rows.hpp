// Vertical footprints in multi-axis parallel beam, for any arithmetic type.
#pragma once

#include "mbirk/definition/footprint.hpp"
#include "mbirk/geometry/multiaxis.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::definition {

/// Footprints of the slices of a voxel column, in detector rows: that of slice k is centred at centre + step k. Its
/// weight in a row is height times the overlap.
template <class T> struct row_footprints { T centre, step, width, height; };

/// F = max(|cos phi| delta_z, |sin phi sin theta| delta_x, |sin phi cos theta| delta_y), width = F/delta_r,
/// height = delta_z/F, and m_p(k) = (z_k cos phi + y sin phi + o_r)/delta_r + (R - 1)/2 with
/// y = sin theta x~ + cos theta y~. The step delta_z cos phi/delta_r is at most as large as the width; it may be 0 or
/// negative. (MBIRJAX)
template <class T>
MBIRK_HD MBIRK_INLINE row_footprints<T> multiaxis_rows(multiaxis_geometry const& g, T cosine, T sine, T cos_elevation,
                                                       T sin_elevation, T x, T y) noexcept {
  T const rise = cos_elevation * T(g.delta_z), per_row = T(1.0 / g.delta_det_row);
  T const in_plane = max(abs(sin_elevation * sine) * T(g.delta_x), abs(sin_elevation * cosine) * T(g.delta_y));
  T const extent = max(abs(rise), in_plane);
  T const first = T(g.recon_slice_offset - 0.5 * static_cast<double>(g.slices - 1) * g.delta_z);
  T const depth = sine * x + cosine * y;
  return {detector_cell(first * cos_elevation + depth * sin_elevation, g.det_row_offset, g.delta_det_row, g.rows),
          rise * per_row, extent * per_row, T(g.delta_z) / extent};
}

}  // namespace mbirk::definition

MBIRK_KERNELS_END
