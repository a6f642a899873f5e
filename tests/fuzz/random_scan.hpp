// Random scans of every geometry: valid ones, extreme in every parameter that a user may set.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <utility>
#include <variant>

#include "mbirk/geometry/general.hpp"
#include "projector/operations.hpp"

namespace mbirk::test {

/// Numbers that depend on the seed only. The distributions of std may differ between libraries.
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : engine_(seed) {}
  /// In [0, 1).
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }
  double between(double low, double high) { return low + (high - low) * unit(); }
  index_t whole(index_t low, index_t high) {
    return low + static_cast<index_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool once_in(index_t n) { return whole(1, n) == 1; }
  /// 10^x with x uniform in (-decades, decades): lengths without a preferred one.
  double scale(double decades) { return std::pow(10, between(-decades, decades)); }
  double sign() { return once_in(2) ? -1 : 1; }

 private:
  std::mt19937_64 engine_;
};

/// One, few or many elements.
inline index_t random_size(random_numbers& r, index_t most) {
  switch (r.whole(0, 5)) {
    case 0: return 1;
    case 1: return r.whole(1, 3);
    case 2: return r.whole(most / 2, most);
    default: return r.whole(1, most / 2 + 1);
  }
}

inline std::vector<float> random_angles(random_numbers& r, index_t views) {
  std::vector<float> angles;
  auto const kind = r.whole(0, 4);
  double const start = r.between(-4, 4), step = r.between(-2, 2);
  for (index_t v = 0; v < views; ++v) {
    double const n = static_cast<double>(v);
    angles.push_back(static_cast<float>(kind == 0   ? n * std::numbers::pi / 2    // edges of pixels and channels meet
                                        : kind == 1 ? n * std::numbers::pi / 4    // corners
                                        : kind == 2 ? r.between(-1e4, 1e4)        // many turns
                                        : kind == 3 ? start                       // all alike
                                                    : start + step * n));
  }
  return angles;
}

/// 0, a part of an element, a part of `width`, or now and then far beyond it.
inline double random_offset(random_numbers& r, double pitch, double width) {
  if (r.once_in(30)) return r.sign() * width * r.scale(4);
  switch (r.whole(0, 5)) {
    case 0: return 0.5 * pitch * r.sign();
    case 1: return r.between(-1, 1) * pitch;
    case 2: return r.between(-0.7, 0.7) * width;
    default: return 0;
  }
}

inline mask_setting random_mask(random_numbers& r, shape_3 const& recon) {
  // In small grids the region of reconstruction is empty.
  if (!r.once_in(4)) return r.once_in(2) && std::min(recon[0], recon[1]) > 3;
  mask_array own{{recon[0], recon[1]}, std::vector<std::uint8_t>(static_cast<std::size_t>(recon[0] * recon[1]))};
  auto const part = r.between(0.1, 1);
  for (auto& value : own.values) value = r.unit() < part;
  return own;
}

struct size_limits {
  index_t views, rows, channels, side, slices;
};

inline parallel_parameters random_parallel(random_numbers& r, size_limits const& most) {
  parallel_parameters p;
  p.sinogram_shape = {random_size(r, most.views), random_size(r, most.rows), random_size(r, most.channels)};
  p.angles = random_angles(r, p.sinogram_shape[0]);
  p.delta_det_channel = r.once_in(2) ? 1 : r.scale(6);
  p.delta_det_row = p.delta_det_channel * r.scale(2);
  p.det_channel_offset =
      random_offset(r, p.delta_det_channel, p.delta_det_channel * static_cast<double>(p.sinogram_shape[2]));
  p.voxel_row_aspect = r.once_in(2) ? 1 : r.scale(r.once_in(3) ? 3 : 0.7);
  p.delta_voxel = p.delta_det_channel * (r.once_in(3) ? 1 : r.scale(r.once_in(3) ? 3 : 0.7));
  p.recon_shape = shape_3{random_size(r, most.side), random_size(r, most.side), p.sinogram_shape[1]};
  p.use_ror_mask = random_mask(r, *p.recon_shape);
  return p;
}

inline cone_parameters random_cone(random_numbers& r, size_limits const& most) {
  cone_parameters p;
  p.sinogram_shape = {random_size(r, most.views), random_size(r, most.rows), random_size(r, most.channels)};
  p.angles = random_angles(r, p.sinogram_shape[0]);
  p.recon_shape = shape_3{random_size(r, most.side), random_size(r, most.side), random_size(r, most.slices)};
  p.use_ror_mask = random_mask(r, *p.recon_shape);
  double const unit = r.once_in(2) ? 1 : r.scale(6);
  p.delta_voxel = unit;
  p.voxel_row_aspect = r.once_in(2) ? 1 : r.scale(r.once_in(3) ? 2 : 0.7);
  p.voxel_slice_aspect = r.once_in(2) ? 1 : r.scale(r.once_in(3) ? 2 : 0.7);
  double const half = unit * std::max(static_cast<double>((*p.recon_shape)[1]),
                                      static_cast<double>((*p.recon_shape)[0]) * p.voxel_row_aspect) / 2;
  // From a source that almost touches the grid to one that is far away.
  p.source_iso_dist = half * (1 + (r.once_in(4) ? std::pow(10, r.between(-7, 0)) : r.between(0.3, 8)));
  p.source_detector_dist = r.once_in(8) ? std::numeric_limits<double>::infinity()
                                        : p.source_iso_dist * (r.once_in(3) ? r.scale(1.5) : r.between(1, 4));
  bool const infinite = std::isinf(p.source_detector_dist);
  p.use_curved_detector = !infinite && r.once_in(3);
  double const magnification = infinite ? 1 : p.source_detector_dist / p.source_iso_dist;
  p.delta_det_channel = unit * magnification * (r.once_in(3) ? 1 : r.scale(r.once_in(3) ? 3 : 0.7));
  p.delta_det_row = unit * p.voxel_slice_aspect * magnification * (r.once_in(3) ? 1 : r.scale(r.once_in(3) ? 2 : 0.7));
  p.det_channel_offset =
      random_offset(r, p.delta_det_channel, p.delta_det_channel * static_cast<double>(p.sinogram_shape[2]));
  p.det_row_offset = random_offset(r, p.delta_det_row, p.delta_det_row * static_cast<double>(p.sinogram_shape[1]));
  double const slice = unit * p.voxel_slice_aspect, height = slice * static_cast<double>((*p.recon_shape)[2]);
  p.recon_slice_offset = random_offset(r, slice, height);
  if (r.once_in(3)) {
    double const travel = height * r.scale(1);
    for (index_t v = 0; v < p.sinogram_shape[0]; ++v)
      p.helical_z_shifts.push_back(static_cast<float>(travel * r.between(-1, 1)));
  }
  return p;
}

/// Elevations of every size; once in three, all rays lie in planes of slices or run along the slices' axis.
inline multiaxis_parameters random_multiaxis(random_numbers& r, size_limits const& most) {
  auto const parallel = random_parallel(r, most);
  multiaxis_parameters p;
  p.sinogram_shape = parallel.sinogram_shape;
  auto const kind = r.whole(0, 2);
  for (auto const azimuth : parallel.angles) {
    p.angles.push_back(azimuth);
    p.angles.push_back(static_cast<float>(kind == 0   ? static_cast<double>(r.whole(-2, 2)) * std::numbers::pi / 2
                                          : kind == 1 ? r.between(-0.8, 0.8)
                                                      : r.between(-4, 4)));
  }
  p.delta_det_channel = parallel.delta_det_channel;
  p.det_channel_offset = parallel.det_channel_offset;
  p.delta_voxel = parallel.delta_voxel;
  p.voxel_row_aspect = parallel.voxel_row_aspect;
  p.voxel_slice_aspect = r.once_in(2) ? 1 : r.scale(0.7);
  double const slice = *p.delta_voxel * p.voxel_slice_aspect;
  p.delta_det_row = slice * (r.once_in(3) ? 1 : r.scale(0.7));
  p.det_row_offset = random_offset(r, p.delta_det_row, p.delta_det_row * static_cast<double>(p.sinogram_shape[1]));
  p.recon_shape = parallel.recon_shape;
  (*p.recon_shape)[2] = random_size(r, most.slices);
  p.recon_slice_offset = random_offset(r, slice, slice * static_cast<double>((*p.recon_shape)[2]));
  p.use_ror_mask = parallel.use_ror_mask;
  return p;
}

inline translation_parameters random_translation(random_numbers& r, size_limits const& most) {
  auto const cone = random_cone(r, most);
  translation_parameters p;
  p.sinogram_shape = cone.sinogram_shape;
  p.recon_shape = cone.recon_shape;
  p.delta_voxel = cone.delta_voxel;
  p.voxel_row_aspect = cone.voxel_row_aspect;
  p.voxel_slice_aspect = cone.voxel_slice_aspect;
  p.source_iso_dist = cone.source_iso_dist;
  p.source_detector_dist =
      std::isinf(cone.source_detector_dist) ? 2 * cone.source_iso_dist : cone.source_detector_dist;
  p.delta_det_channel = cone.delta_det_channel;
  p.delta_det_row = cone.delta_det_row;
  p.det_channel_offset = cone.det_channel_offset;
  p.det_row_offset = cone.det_row_offset;
  p.use_ror_mask = cone.use_ror_mask;
  auto const& x = *p.recon_shape;
  double const depth = 0.5 * static_cast<double>(x[0]) * *p.voxel_row_aspect * *p.delta_voxel,
               half = 0.5 * *p.delta_voxel * static_cast<double>(std::max(x[1], x[2])),
               nearest = p.source_iso_dist - depth, range = half * r.scale(0.5);
  for (index_t v = 0; v < p.sinogram_shape[0]; ++v)
    for (double const most_of_axis : {range, 0.9 * nearest, range})
      p.translation_vectors.push_back(static_cast<float>(r.between(-1, 1) * most_of_axis));
  return p;
}

/// p turned about an axis of length 1.
inline vector3 turned(vector3 const& p, vector3 const& axis, double angle) {
  return p * std::cos(angle) + cross(axis, p) * std::sin(angle) + axis * (dot(axis, p) * (1 - std::cos(angle)));
}

/// Views of another geometry: as they are, with detectors that are rolled, pitched and yawed, with sources and
/// detectors that are moved, or with rows and channels exchanged.
inline general_parameters random_general(random_numbers& r, size_limits const& most) {
  general_parameters p;
  if (r.once_in(3)) {
    p = to_general(random_multiaxis(r, most));
  } else {
    auto cone = random_cone(r, most);
    cone.use_curved_detector = false;
    // The whole grid lies before the source, also before one that is moved.
    auto const& x = *cone.recon_shape;
    double const unit = *cone.delta_voxel,
                 half = 0.5 * unit * std::hypot(static_cast<double>(x[1]),
                                                static_cast<double>(x[0]) * cone.voxel_row_aspect);
    double const magnification =
        std::isinf(cone.source_detector_dist) ? 1 : cone.source_detector_dist / cone.source_iso_dist;
    cone.source_iso_dist = half * r.between(1.5, 8);
    cone.source_detector_dist = magnification * cone.source_iso_dist;
    p = to_general(cone);
  }
  auto const kind = r.whole(0, 4);
  for (std::size_t v = 0; v + 11 < p.view_vectors.size(); v += 12) {
    auto* const at = &p.view_vectors[v];
    auto const get = [&](int k) { return vector3{at[3 * k], at[3 * k + 1], at[3 * k + 2]}; };
    auto const set = [&](int k, vector3 const& to) {
      at[3 * k] = to.x;
      at[3 * k + 1] = to.y;
      at[3 * k + 2] = to.z;
    };
    auto const somewhere = [&](double size) {
      return vector3{r.between(-size, size), r.between(-size, size), r.between(-size, size)};
    };
    if (kind == 1 || kind == 2) {
      double const most_of_tilt = kind == 1 ? 0.02 : 0.4, roll = kind == 1 ? 0.02 : 4;
      auto u = get(2), rows = get(3);
      auto const normal = cross(u, rows) / length(cross(u, rows));
      double const about_normal = r.between(-roll, roll), pitch = r.between(-most_of_tilt, most_of_tilt),
                   yaw = r.between(-most_of_tilt, most_of_tilt);
      u = turned(u, normal, about_normal);
      rows = turned(rows, normal, about_normal);
      rows = turned(rows, u / length(u), pitch);
      u = turned(u, rows / length(rows), yaw);
      set(2, u);
      set(3, rows);
    } else if (kind == 3) {
      double const distance = length(get(0));
      set(0, get(0) + somewhere(0.1 * distance));
      set(1, get(1) + somewhere(0.1 * (p.parallel_rays ? length(get(2)) : distance)));
      set(2, get(2) + somewhere(0.1 * length(get(2))));
      set(3, get(3) + somewhere(0.1 * length(get(3))));
      if (p.parallel_rays) set(0, get(0) * r.scale(6));
    } else if (kind == 4) {
      auto const u = get(2);
      set(2, get(3));
      set(3, u * -1);
    }
  }
  if (kind == 4) std::swap(p.sinogram_shape[1], p.sinogram_shape[2]);
  return p;
}

/// Parameters of any geometry, each as often as the other ones.
inline any_parameters random_parameters(random_numbers& r, size_limits const& most) {
  switch (r.whole(0, 4)) {
    case 0: return random_parallel(r, most);
    case 1: return random_cone(r, most);
    case 2: return random_multiaxis(r, most);
    case 3: return random_translation(r, most);
    default: return random_general(r, most);
  }
}

/// All parameters on one line, in the form of G.json.
inline std::string text_of(any_parameters const& parameters) {
  return std::visit([](auto const& p) {
    std::string text;
    auto const add = [&](char const* name, auto const&... values) {
      text += std::string(text.empty() ? "" : ", ") + name + " ";
      char number[40];
      ((std::snprintf(number, sizeof number, "%.17g ", static_cast<double>(values)), text += number), ...);
      text.pop_back();
    };
    auto const& y = p.sinogram_shape;
    auto const& x = *p.recon_shape;
    add("sinogram", y[0], y[1], y[2]);
    add("recon", x[0], x[1], x[2]);
    add("delta_det_channel", p.delta_det_channel);
    add("delta_det_row", p.delta_det_row);
    add("det_channel_offset", p.det_channel_offset);
    add("det_row_offset", p.det_row_offset);
    add("delta_voxel", *p.delta_voxel);
    if constexpr (requires { *p.voxel_row_aspect; }) add("aspects", *p.voxel_row_aspect, p.voxel_slice_aspect);
    else add("aspects", p.voxel_row_aspect, p.voxel_slice_aspect);
    if constexpr (requires { p.source_iso_dist; }) {
      add("source_iso_dist", p.source_iso_dist);
      add("source_detector_dist", p.source_detector_dist);
    }
    if constexpr (requires { p.use_curved_detector; }) {
      add("curved", p.use_curved_detector);
      for (auto const z : p.helical_z_shifts) add("shift", z);
    }
    if constexpr (requires { *p.recon_slice_offset; }) add("recon_slice_offset", *p.recon_slice_offset);
    else if constexpr (requires { p.recon_slice_offset; }) add("recon_slice_offset", p.recon_slice_offset);
    if constexpr (requires { p.angles; })
      for (auto const a : p.angles) add("angle", a);
    if constexpr (requires { p.translation_vectors; })
      for (auto const t : p.translation_vectors) add("translation", t);
    if constexpr (requires { p.view_vectors; }) {
      add("parallel_rays", p.parallel_rays);
      for (auto const t : p.view_vectors) add("vector", t);
    }
    text += ", mask " + std::string(std::holds_alternative<mask_array>(p.use_ror_mask) ? "of its own"
                                    : std::get<bool>(p.use_ror_mask)                   ? "true"
                                                                                       : "false");
    return text;
  }, parameters);
}

}  // namespace mbirk::test
