// Direct reconstruction of a fan beam. Users also include projector/all.hpp, which provides the kernels.
#pragma once

#include <cmath>
#include <vector>

#include "mbirk/filter/direct_filter.hpp"
#include "mbirk/projector/operations.hpp"
#include "mbirk/recon/fan.hpp"

namespace mbirk {

/// Filtered back projection of a fan beam: fdk_filter, a factor, and back_project, on fan_direct_parameters.
///
/// A pixel's footprint weighs a ray by the chord, which grows by the secant of the fan angle g; fan-beam filtered back
/// projection has no such factor, so filtered values are multiplied by cos g. Without it, values at a distance r from
/// the axis are too high by (r/source_iso_dist)^2/4.
/// @param p         parameters of the scan, with one row; a full turn, or a sinogram with weights.
/// @param sinogram  (views, 1, channels), line integrals.
/// @param recon     (rows, cols, 1); overwritten.
/// @throws parameter_error, shape_error, allocation_error
/// Cost: fdk_recon of a few rows; temporary memory of two sinograms of that many rows.
/// Source: Kak and Slaney 1988, 3.4.
template <execution_policy Exec, instrumentation_policy Instr>
void fan_recon(context<Exec, Instr> const& ctx, cone_parameters const& p, view<float const, 3> sinogram,
               view<float, 3> recon) {
  require_shape(sinogram, p.sinogram_shape, "fan_recon", "sinogram", "(views, 1, channels)");
  auto const q = fan_direct_parameters(p);
  cone_scan const scan(q);
  auto const rows = q.sinogram_shape[1], channels = q.sinogram_shape[2];
  auto y = repeat_rows(sinogram, rows);
  view<float, 3> const filtered(y.data(), q.sinogram_shape);
  direct_filter(ctx, scan, filtered, filtered);
  std::vector<float> cosine;
  for (index_t n = 0; n < channels; ++n) {
    double const u = (static_cast<double>(n) - static_cast<double>(channels - 1) / 2) * q.delta_det_channel -
                     q.det_channel_offset;
    cosine.push_back(static_cast<float>(q.use_curved_detector
                                            ? std::cos(u / q.source_detector_dist)
                                            : q.source_detector_dist / std::hypot(u, q.source_detector_dist)));
  }
  for (index_t v = 0; v < filtered.extent(0); ++v)
    for (index_t m = 0; m < rows; ++m)
      for (index_t n = 0; n < channels; ++n) filtered(v, m, n) *= cosine[static_cast<std::size_t>(n)];
  back_project(ctx, scan, filtered, recon);
}

}  // namespace mbirk
