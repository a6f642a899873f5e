// Fan beam, which is a cone beam of one row whose voxels have no height of their own, and weights for cone-beam and
// fan-beam scans over less than a full turn. Values and arrays only: reconstruction is that of cone beam.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "mbirk/core/view.hpp"
#include "mbirk/geometry/cone.hpp"

namespace mbirk {
namespace detail {

inline void require_fan(cone_parameters const& p) {
  require(p.sinogram_shape[1] == 1, [&] {
    return "fan beam: sinogram_shape is " + shape_text(p.sinogram_shape) + ", expected one detector row";
  });
  require(p.helical_z_shifts.empty(), [] { return "fan beam: helical_z_shifts are given, expected a circular scan"; });
  require(std::isfinite(p.source_detector_dist) && p.source_detector_dist > 0 && p.source_iso_dist > 0, [] {
    return "fan beam: source_detector_dist and source_iso_dist must be positive and finite";
  });
}

/// Smallest and largest magnification within the reconstruction.
inline std::array<double, 2> magnifications(cone_parameters const& p) {
  auto const size = auto_size(p);
  auto const shape = p.recon_shape.value_or(size.recon_shape);
  double const delta = p.delta_voxel.value_or(size.delta_voxel);
  double const radius =
      std::hypot(static_cast<double>(shape[0]) * p.voxel_row_aspect, static_cast<double>(shape[1])) * delta / 2;
  double const d = p.source_detector_dist, iso = p.source_iso_dist;
  return {d / (iso + radius), d / std::max(iso - radius, iso / 8)};
}

}  // namespace detail

/// Parameters of the cone beam that is a fan beam for iterative reconstruction: voxels are so high that they fill the
/// row wherever they are, so that the vertical factor of the projector, the part of the row that a voxel covers, is 1.
/// In a cone beam of one row, a voxel as high as the row at the axis spills over it near the source and does not fill
/// it beyond the axis, and values are off by the ratio of the magnifications.
/// @throws parameter_error unless there is one row, no helix, and finite distances.
inline cone_parameters fan_parameters(cone_parameters p) {
  detail::require_fan(p);
  double const delta = p.delta_voxel.value_or(auto_size(p).delta_voxel);
  auto shape = p.recon_shape.value_or(auto_size(p).recon_shape);
  shape[2] = 1;
  p.recon_shape = shape;
  p.det_row_offset = 0;
  p.recon_slice_offset = 0;
  p.voxel_slice_aspect = 1.01 * p.delta_det_row / detail::magnifications(p)[0] / delta;
  return p;
}

/// Parameters of the cone beam that is a fan beam for direct reconstruction: the row is repeated, so that the voxel's
/// footprint, whose height is its magnification over that at the axis, lies on the detector, and its height gives the
/// second factor of the 1/L^2 that fan-beam filtered back projection needs (Kak and Slaney 1988, 3.4). Rows are so low
/// that all are in the plane of the source.
/// @return parameters with an odd number of rows; repeat_rows makes their sinogram.
inline cone_parameters fan_direct_parameters(cone_parameters p) {
  detail::require_fan(p);
  auto const [least, most] = detail::magnifications(p);
  double const at_axis = p.source_detector_dist / p.source_iso_dist;
  auto const size = auto_size(p);
  double const delta = p.delta_voxel.value_or(size.delta_voxel);
  auto shape = p.recon_shape.value_or(size.recon_shape);
  shape[2] = 1;
  p.recon_shape = shape;
  p.delta_voxel = delta;
  p.sinogram_shape[1] = 2 * static_cast<index_t>(std::ceil(most / at_axis / 2)) + 1;
  p.delta_det_row = 1e-4 * p.delta_det_channel;
  p.det_row_offset = 0;
  p.recon_slice_offset = 0;
  p.voxel_slice_aspect = p.delta_det_row / at_axis / delta;
  return p;
}

/// The sinogram of fan_direct_parameters: each view's row, repeated. @return (views, rows, channels), dense
inline std::vector<float> repeat_rows(view<float const, 3> y, index_t rows) {
  index_t const views = y.extent(0), channels = y.extent(2);
  std::vector<float> all;
  all.reserve(static_cast<std::size_t>(views * rows * channels));
  for (index_t v = 0; v < views; ++v)
    for (index_t m = 0; m < rows; ++m)
      for (index_t n = 0; n < channels; ++n) all.push_back(y(v, 0, n));
  return all;
}

/// Range of the views in radians, one step beyond the last; 0 if there are fewer than two or they are not equally
/// spaced within a tenth of a step.
inline double view_range(std::vector<float> const& angles) {
  if (angles.size() < 2) return 0;
  double const first = static_cast<double>(angles.front()), last = static_cast<double>(angles.back());
  double const step = (last - first) / static_cast<double>(angles.size() - 1);
  for (std::size_t v = 0; v < angles.size(); ++v)
    if (std::abs(static_cast<double>(angles[v]) - first - step * static_cast<double>(v)) > 0.1 * std::abs(step))
      return 0;
  return std::abs(step) * static_cast<double>(angles.size());
}

/// Half the fan angle of the detector's farther edge.
inline double half_fan_angle(cone_parameters const& p) {
  double const width =
      static_cast<double>(p.sinogram_shape[2]) * p.delta_det_channel / 2 + std::abs(p.det_channel_offset);
  return p.use_curved_detector ? width / p.source_detector_dist : std::atan(width / p.source_detector_dist);
}

/// Weights for views over less than a full turn: a ray that is measured from both sides counts once in all. With
/// D = (range - pi)/2 in place of half the fan angle, which makes them right for over-scans too, and the fan angle g of
/// the channel, b = angle - first angle:
///   sin^2(pi/4 b/(D + g))                  b <= 2 D + 2 g
///   1                                      in between
///   sin^2(pi/4 (pi + 2 D - b)/(D - g))     b >= pi + 2 g
/// The result is multiplied by range/pi, because direct reconstruction counts each ray twice, over a full turn.
/// @return (views, channels). @throws parameter_error when the range is not between pi + fan angle and 2 pi
/// Source: Parker, Optimal short scan convolution reconstruction for fanbeam CT, 1982; Wesarg, Ebert, Bortfeld, Parker
/// weights revisited, 2002.
inline std::vector<float> short_scan_weights(cone_parameters const& p) {
  double const pi = std::numbers::pi, range = view_range(p.angles), half = half_fan_angle(p);
  require(range > 0 && range < 2 * pi, [&] {
    return "short_scan_weights: the views cover " + detail::number_text(range * 180 / pi) +
           " degrees in equal steps, expected less than 360";
  });
  require(range >= (pi + 2 * half) * 0.999, [&] {
    return "short_scan_weights: the views cover " + detail::number_text(range * 180 / pi) +
           " degrees, expected at least 180 and the fan angle, " + detail::number_text((pi + 2 * half) * 180 / pi);
  });
  index_t const views = p.sinogram_shape[0], channels = p.sinogram_shape[2];
  double const step = range / static_cast<double>(views), extra = std::max((range - pi) / 2, half);
  bool const backwards = p.angles.back() < p.angles.front();
  std::vector<float> weights;
  for (index_t v = 0; v < views; ++v)
    for (index_t n = 0; n < channels; ++n) {
      double const u = (static_cast<double>(n) - static_cast<double>(channels - 1) / 2) * p.delta_det_channel -
                       p.det_channel_offset;
      double gamma = p.use_curved_detector ? u / p.source_detector_dist : std::atan(u / p.source_detector_dist);
      if (backwards) gamma = -gamma;
      double const beta = (static_cast<double>(v) + 0.5) * step;
      double w = 1;
      if (beta < 2 * (extra + gamma)) w = std::pow(std::sin(pi / 4 * beta / (extra + gamma)), 2);
      else if (beta > pi + 2 * gamma)
        w = extra - gamma > 0 ? std::pow(std::sin(pi / 4 * std::max(0.0, pi + 2 * extra - beta) / (extra - gamma)), 2)
                              : 0;
      weights.push_back(static_cast<float>(w * range / pi));
    }
  return weights;
}

/// Channels of zeros that make a detector reach equally far to both sides of the axis. Filtered values beyond the nearer
/// edge are not zero, so direct reconstruction of an offset detector needs them.
inline index_t offset_padding(cone_parameters const& p) {
  return static_cast<index_t>(std::ceil(2 * std::abs(p.det_channel_offset) / p.delta_det_channel - 1e-9));
}

/// Parameters with these channels. Grid and voxels stay as they are if they are given.
inline cone_parameters padded_parameters(cone_parameters p) {
  index_t const pad = offset_padding(p);
  double const half = static_cast<double>(pad) / 2 * p.delta_det_channel;
  p.det_channel_offset += p.det_channel_offset > 0 ? -half : half;
  p.sinogram_shape[2] += pad;
  return p;
}

/// Sinogram of padded_parameters. @param offset  det_channel_offset before. @return (views, rows, channels + pad), dense
inline std::vector<float> pad_channels(view<float const, 3> y, index_t pad, double offset) {
  index_t const channels = y.extent(2), before = offset > 0 ? 0 : pad;
  std::vector<float> all(static_cast<std::size_t>(y.extent(0) * y.extent(1) * (channels + pad)), 0.0f);
  auto* to = all.data() + before;
  for (index_t v = 0; v < y.extent(0); ++v)
    for (index_t m = 0; m < y.extent(1); ++m, to += channels + pad)
      for (index_t n = 0; n < channels; ++n) to[n] = y(v, m, n);
  return all;
}

/// Weights for a full turn with a detector that reaches farther to one side of the axis (half-fan): rays that the other
/// side measures too, within the fan angle t of the nearer edge, fade from 0 to 2, others count twice.
///   1 + sin(pi/2 g/t) for |g| < t, 0 and 2 beyond, g positive towards the farther edge
/// @return one per channel; all 1 if the axis is within a hundredth of the middle.
/// @throws parameter_error when the axis is outside the detector
/// Source: Wang, X-ray micro-CT with a displaced detector array, 2002.
inline std::vector<float> offset_detector_weights(cone_parameters const& p) {
  index_t const channels = p.sinogram_shape[2];
  double const half = static_cast<double>(channels) * p.delta_det_channel / 2, offset = p.det_channel_offset;
  require(std::abs(offset) < half, [&] {
    return "offset_detector_weights: det_channel_offset is " + detail::number_text(offset) +
           ", expected within half of the detector, " + detail::number_text(half);
  });
  std::vector<float> weights(static_cast<std::size_t>(channels), 1.0f);
  if (std::abs(offset) < 0.02 * half) return weights;
  auto const angle = [&](double u) {
    return p.use_curved_detector ? u / p.source_detector_dist : std::atan(u / p.source_detector_dist);
  };
  double const nearer = angle(half - std::abs(offset)), side = offset > 0 ? -1 : 1;
  for (index_t n = 0; n < channels; ++n) {
    double const u = (static_cast<double>(n) - static_cast<double>(channels - 1) / 2) * p.delta_det_channel - offset;
    double const g = side * angle(u);
    weights[static_cast<std::size_t>(n)] =
        static_cast<float>(g <= -nearer  ? 0.0
                           : g >= nearer ? 2.0
                                         : 1 + std::sin(std::numbers::pi / 2 * g / nearer));
  }
  return weights;
}

}  // namespace mbirk
