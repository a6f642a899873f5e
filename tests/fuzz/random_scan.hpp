// Random scans of parallel and cone beam: valid ones, extreme in every parameter that a user may set.
#pragma once

#include <cmath>
#include <cstdio>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <variant>

#include "projector/operations.hpp"

namespace mbirk::test {

/// Parameters of the geometries that are drawn.
using drawn_parameters = std::variant<parallel_parameters, cone_parameters>;

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

/// All parameters on one line, in the form of G.json.
inline std::string text_of(drawn_parameters const& parameters) {
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
    add("aspects", p.voxel_row_aspect, p.voxel_slice_aspect);
    if constexpr (requires { p.source_iso_dist; }) {
      add("source_iso_dist", p.source_iso_dist);
      add("source_detector_dist", p.source_detector_dist);
      add("curved", p.use_curved_detector);
      add("recon_slice_offset", *p.recon_slice_offset);
      for (auto const z : p.helical_z_shifts) add("shift", z);
    }
    for (auto const a : p.angles) add("angle", a);
    text += ", mask " + std::string(std::holds_alternative<mask_array>(p.use_ror_mask) ? "of its own"
                                    : std::get<bool>(p.use_ror_mask)                   ? "true"
                                                                                       : "false");
    return text;
  }, parameters);
}

}  // namespace mbirk::test
