// The geometries for tests of every projector property, and the accuracy of float32 on each.
#pragma once

#include <limits>

#include "mbirk/simd/pack.hpp"
#include "projector/general_cases.hpp"
#include "projector/multiaxis_cases.hpp"
#include "projector/operations.hpp"

namespace mbirk::test {

struct geometry_case {
  std::string name;
  any_parameters parameters;
};
inline void PrintTo(geometry_case const& c, std::ostream* out) { *out << c.name; }
inline std::string case_name(::testing::TestParamInfo<geometry_case> const& info) { return info.param.name; }

/// Angles without symmetry, some beyond a full turn.
inline std::vector<float> some_angles(index_t views) {
  std::vector<float> a;
  for (index_t v = 0; v < views; ++v) a.push_back(-1.1f + 0.83f * static_cast<float>(v));
  return a;
}

inline std::vector<geometry_case> parallel_cases() {
  auto const make = [](index_t views, index_t rows, index_t channels, shape_3 recon, double voxel) {
    parallel_parameters p{.sinogram_shape = {views, rows, channels},
                          .angles = some_angles(views),
                          .delta_voxel = voxel,
                          .recon_shape = recon};
    return p;
  };
  std::vector<geometry_case> cases;
  auto const add = [&](char const* name, parallel_parameters const& p) {
    cases.push_back({std::string("parallel_") + name, p});
  };
  add("automatic", {.sinogram_shape = {9, 5, 16}, .angles = some_angles(9)});
  {
    auto p = make(7, 9, 13, {11, 12, 9}, 0.77);
    p.delta_det_channel = 0.9, p.det_channel_offset = 0.25, p.voxel_row_aspect = 1.2;
    add("odd", p);
    p.voxel_row_aspect = 0.4, p.recon_shape = {29, 10, 9};
    add("flat_voxels", p);
  }
  {
    auto p = make(4, 3, 12, {12, 12, 3}, 1);
    p.angles = {0.0f, 1.5707964f, 3.1415927f, -1.5707964f};  // footprints end on cell borders
    add("ties", p);
  }
  add("narrow", make(6, 4, 12, {20, 21, 4}, 0.3));
  add("wide", make(6, 4, 14, {9, 8, 4}, 1.6));
  add("wider", make(6, 4, 24, {9, 8, 4}, 2.7));
  add("widest", make(5, 4, 60, {9, 8, 4}, 7));
  {
    auto p = make(6, 4, 9, {18, 17, 4}, 1);  // most of the object is beside the detector
    p.det_channel_offset = 3.7, p.use_ror_mask = false;
    add("truncated", p);
    p = make(6, 4, 3, {18, 17, 4}, 3.3);  // wide footprints that begin before the detector and end behind it
    p.use_ror_mask = false;
    add("wider_truncated", p);
  }
  add("one_row", make(5, 1, 10, {9, 10, 1}, 1));
  add("seventeen_rows", make(5, 17, 10, {9, 10, 17}, 1));
  add("many_rows", make(4, 130, 10, {9, 10, 130}, 1));
  add("more_rows", make(3, 300, 8, {7, 6, 300}, 1));
  add("hundred_rows", make(12, 100, 20, {19, 22, 100}, 1));  // views from all sides of several tiles
  add("one_channel", make(8, 3, 1, {9, 10, 3}, 1));
  add("one_view", make(1, 6, 14, {13, 12, 6}, 1));
  add("many_views", make(40, 3, 14, {13, 12, 3}, 0.9));
  {
    auto p = make(5, 4, 8, {1, 1, 4}, 1.3);
    p.use_ror_mask = false;
    add("one_pixel", p);
    p = make(5, 6, 17, {3, 17, 6}, 1);
    p.use_ror_mask = false;
    add("three_grid_rows", p);
    p = make(6, 5, 17, {16, 16, 5}, 1);
    mask_array own{{16, 16}, std::vector<std::uint8_t>(256)};
    for (std::size_t k = 0; k < 256; ++k) own.values[k] = k % 3 == 0 || k > 200;
    p.use_ror_mask = own;
    add("own_mask", p);
  }
  return cases;
}

inline std::vector<geometry_case> cone_cases() {
  auto const make = [](index_t views, index_t rows, index_t channels, shape_3 recon, double voxel) {
    cone_parameters p{.sinogram_shape = {views, rows, channels},
                      .angles = some_angles(views),
                      .source_detector_dist = 60,
                      .source_iso_dist = 33};
    p.delta_voxel = voxel, p.recon_shape = recon;
    return p;
  };
  std::vector<geometry_case> cases;
  auto const add = [&](char const* name, cone_parameters const& p) {
    cases.push_back({std::string("cone_") + name, p});
  };
  add("automatic",
      {.sinogram_shape = {9, 7, 16}, .angles = some_angles(9), .source_detector_dist = 64, .source_iso_dist = 40});
  {
    auto p = make(7, 9, 13, {11, 12, 10}, 0.71);
    p.delta_det_channel = 1.1, p.delta_det_row = 0.8, p.det_channel_offset = 0.37, p.det_row_offset = -0.55;
    p.voxel_row_aspect = 1.2, p.voxel_slice_aspect = 0.9, p.recon_slice_offset = 0.63;
    add("odd", p);
    p.helical_z_shifts = {-1.5f, -1.0f, -0.4f, 0.1f, 0.7f, 1.2f, 1.8f};
    add("helical", p);
    p.use_curved_detector = true;
    add("helical_curved", p);
    p.helical_z_shifts.assign(7, 0.9f);  // a common shift of all views
    add("shifted_curved", p);
    p.use_curved_detector = false, p.source_detector_dist = std::numeric_limits<double>::infinity();
    add("infinite", p);
  }
  {
    auto p = make(6, 5, 13, {11, 12, 14}, 0.55);
    p.delta_det_row = 3;
    add("tall_rows", p);
    p.delta_det_row = 9;
    add("taller_rows", p);
    p.delta_det_row = 2.2, p.sinogram_shape[1] = 20, p.recon_shape = {7, 8, 40};
    add("many_tall_rows", p);
    p.delta_det_row = 0.2, p.sinogram_shape[1] = 40, p.recon_shape = {11, 12, 9};
    add("short_rows", p);
    p.sinogram_shape[1] = 130, p.recon_shape = {7, 8, 36};
    add("many_short_rows", p);
    p = make(6, 8, 13, {11, 12, 6}, 0.55);
    p.voxel_slice_aspect = 2.3;
    add("tall_slices", p);
    p.voxel_slice_aspect = 0.4, p.recon_shape = {11, 12, 20};
    add("flat_slices", p);
  }
  {
    auto p = make(6, 13, 14, {12, 13, 11}, 0.9);
    p.source_detector_dist = 20, p.source_iso_dist = 11,
    p.delta_det_channel = p.delta_det_row = 2;  // elevations to 33 degrees
    add("strong", p);
    p.use_curved_detector = true;
    add("strong_curved", p);
    p.source_iso_dist = 7.26, p.use_curved_detector = false, p.use_ror_mask = false, p.recon_shape = {13, 13, 5};
    add("corners_behind_the_source", p);  // the grid reaches 5.85 along its axes, 8.3 in its corners
  }
  add("wide", make(6, 9, 14, {9, 8, 7}, 0.8));
  add("wider", make(6, 9, 20, {9, 8, 5}, 1.4));
  {
    auto p = make(5, 12, 40, {9, 8, 4}, 3.6);
    p.source_iso_dist = 40;
    add("widest", p);
    p = make(6, 4, 6, {14, 15, 11}, 0.55);
    p.det_channel_offset = 2.2, p.det_row_offset = 1.4, p.use_ror_mask = false;
    add("truncated", p);
    p = make(6, 3, 2, {9, 8, 9}, 1.5);
    p.use_ror_mask = false;
    add("wider_truncated", p);
    p = make(6, 5, 13, {11, 12, 4}, 0.55);
    p.recon_slice_offset = 40;  // no slice is seen
    add("unseen", p);
  }
  {  // whole packs on either side of the source plane, for every pack length
    auto p = make(5, 32, 13, {11, 12, 32}, 0.55);
    add("mirrored", p);
    p.use_curved_detector = true, p.delta_det_row = 3;
    add("mirrored_tall_rows_curved", p);
    p = make(4, 64, 12, {9, 8, 32}, 0.8);
    p.voxel_slice_aspect = 1.9;
    add("mirrored_tall_slices", p);
    p = make(4, 32, 14, {12, 13, 64}, 0.9);
    p.source_detector_dist = 20, p.source_iso_dist = 11, p.delta_det_channel = p.delta_det_row = 2,
    p.voxel_slice_aspect = 0.3;
    add("mirrored_strong", p);
  }
  add("one_slice", make(5, 6, 10, {9, 10, 1}, 0.55));
  add("many_slices", make(3, 70, 10, {7, 8, 130}, 0.55));
  add("one_row", make(5, 1, 10, {9, 10, 7}, 0.55));
  add("many_rows", make(3, 130, 10, {7, 8, 70}, 0.9));
  add("one_channel", make(8, 5, 1, {9, 10, 5}, 0.55));
  add("one_view", make(1, 7, 14, {13, 12, 6}, 0.55));
  add("many_views", make(40, 6, 13, {11, 10, 5}, 0.55));
  {
    auto p = make(5, 6, 8, {1, 1, 5}, 0.8);
    p.use_ror_mask = false;
    add("one_pixel", p);
    p = make(6, 5, 15, {16, 16, 5}, 0.55);
    mask_array own{{16, 16}, std::vector<std::uint8_t>(256)};
    for (std::size_t k = 0; k < 256; ++k) own.values[k] = k % 3 == 0 || k > 200;
    p.use_ror_mask = own;
    add("own_mask", p);
  }
  return cases;
}

/// Translations without symmetry, towards the source and away from it by up to `depth`.
inline std::vector<float> some_translations(index_t views, float range, float depth) {
  std::vector<float> t;
  for (index_t v = 0; v < views; ++v)
    for (index_t axis = 0; axis < 3; ++axis)
      t.push_back((axis == 1 ? depth : range) *
                  std::sin(1.3f + 2.1f * static_cast<float>(3 * v + axis) * (axis == 1 ? 1.7f : 1)));
  return t;
}

inline std::vector<geometry_case> translation_cases() {
  auto const make = [](index_t views, index_t rows, index_t channels, shape_3 recon, double voxel, float range) {
    return translation_parameters{.sinogram_shape = {views, rows, channels},
                                  .translation_vectors = some_translations(views, range, range),
                                  .source_detector_dist = 60,
                                  .source_iso_dist = 33,
                                  .delta_voxel = voxel,
                                  .voxel_row_aspect = 1,
                                  .recon_shape = recon};
  };
  std::vector<geometry_case> cases;
  auto const add = [&](char const* name, translation_parameters const& p) {
    cases.push_back({std::string("translation_") + name, p});
  };
  add("automatic", {.sinogram_shape = {12, 7, 16}, .translation_vectors = gen_translation_vectors(4, 3, 3, 2.5),
                    .source_detector_dist = 30, .source_iso_dist = 20, .voxel_row_aspect = 2});
  {
    auto p = make(7, 9, 13, {5, 14, 10}, 0.71, 3);
    p.delta_det_channel = 1.1, p.delta_det_row = 0.8, p.det_channel_offset = 0.37, p.det_row_offset = -0.55;
    p.voxel_row_aspect = 6.5, p.voxel_slice_aspect = 0.9;
    add("long_rows", p);  // 8 times as long as a column: where the cone's footprints would be wider
    p.translation_vectors = some_translations(7, 8, 18), p.use_ror_mask = true;
    add("extreme_shifts", p);
  }
  {
    auto p = make(5, 5, 13, {7, 12, 14}, 0.55, 4);
    p.delta_det_row = 3;
    add("tall_rows", p);
    p.voxel_slice_aspect = 2.3, p.delta_det_row = 0.5, p.sinogram_shape[1] = 20;
    add("tall_slices", p);
  }
  {
    auto p = make(5, 9, 14, {7, 8, 7}, 1.4, 2);
    add("wide", p);
    p.translation_vectors = some_translations(5, 2, 20), p.source_iso_dist = 30;  // up to 10 from the source
    add("close_to_the_source", p);
  }
  {
    auto p = make(4, 32, 13, {6, 11, 32}, 0.55, 3);
    for (std::size_t k = 2; k < p.translation_vectors.size(); k += 3) p.translation_vectors[k] = 0;
    add("mirrored", p);
  }
  add("one_view", make(1, 7, 14, {3, 12, 6}, 0.55, 2));
  add("one_pixel", make(5, 6, 8, {1, 1, 5}, 0.8, 1));
  return cases;
}

/// Cases with a direct reconstruction.
inline std::vector<geometry_case> direct_cases() {
  auto cases = parallel_cases();
  for (auto& c : cone_cases()) cases.push_back(c);
  for (auto& [name, parameters] : multiaxis_cases()) cases.push_back({"multiaxis_" + name, parameters});
  for (auto& c : translation_cases()) cases.push_back(c);
  return cases;
}
inline std::vector<geometry_case> all_cases() {
  auto cases = direct_cases();
  for (auto& [name, parameters] : general_cases()) cases.push_back({"general_" + name, parameters});
  return cases;
}

/// The footprints of parallel or cone beam: the narrowest and the widest, in channels and in rows (1 in parallel beam),
/// of visible pixels.
struct footprint_range {
  double narrowest = 1e30, widest = 0, lowest = 1e30, tallest = 0;
  bool all_seen = true;
};
/// @param cut  Whether a footprint ends one channel beyond either end of the detector, as on the host.
inline footprint_range footprints_of(any_scan const& s, bool cut = true) {
  footprint_range r;
  double const detector = cut ? static_cast<double>(sinogram_shape(s)[2]) + 2 : 1e30;
  auto const note = [&](double width, double height) {
    r.narrowest = std::min(r.narrowest, width), r.widest = std::max(r.widest, std::min(width, detector));
    r.lowest = std::min(r.lowest, height), r.tallest = std::max(r.tallest, height);
  };
  std::visit([&]<class Geometry>(scan<Geometry> const& any) {
    if constexpr (std::derived_from<Geometry, parallel_geometry>) {
      for (auto const& at : any.positions())
        note(definition::parallel_footprint(any.geometry(), at.cosine, at.sine, 0.0, 0.0).width, 1);
    } else if constexpr (std::derived_from<Geometry, cone_geometry>) {
      for (index_t v = 0; v < any.geometry().views; ++v)
        for (auto const p : every_pixel(s)) {
          auto const f = definition::cone_footprint_at<double>(any, v, index_t{p});
          if (f.channel.chord > 0) note(f.channel.width, f.row_width);
          else r.all_seen = false;
        }
    }
  }, s);
  return r;
}

/// Worst-case error of float32, relative to the largest element: a count of roundings times 2^-24.
///
/// - sums: a chain of n additions of positive numbers is off by at most n roundings. In a forward projection, a line of
///   pixels along the wider projected edge hits a channel (W + 1)/W + 1 times, and there are as many lines as the grid
///   is long; in a back projection, every view adds ceil(W) + 1 taps.
/// - across: an overlap is a difference of numbers of size 1 + W (fraction, width, their sum and its complement: 1 + 3
///   W roundings) and at most min(1, W). The taps beside the peak have the same error and less weight, hence the factor
///   2. The chord, its product and its sum add 3.
/// - along: the same in rows or slices of step s, plus the fixed-point position: lanes - 1 steps that are truncated at
///   2^-(32 - log2(2 lanes)).
/// - sec: linear in the squared magnification, with a remainder of two roundings, then two products.
inline double tolerance(any_scan const& s, bool towards_sinogram, int power, bool cut = true) {
  if (auto const* multiaxis = std::get_if<multiaxis_scan>(&s))
    return multiaxis_tolerance(*multiaxis, towards_sinogram, power);
  if (auto const* general = std::get_if<general_scan>(&s)) return general_tolerance(*general, towards_sinogram, power);
  auto const r = footprints_of(s, cut);
  auto const recon = recon_shape(s);
  double const views = static_cast<double>(sinogram_shape(s)[0]),
               side = static_cast<double>(std::max(recon[0], recon[1]));
  double const sums = towards_sinogram ? side * (2 + 1 / r.narrowest) : views * (std::ceil(r.widest) + 1);
  double const across = 2 * (1 + 3 * r.widest) / std::min(1.0, r.narrowest) + 3;
  double along = 0;
  if (!std::holds_alternative<parallel_scan>(s)) {
    double const low = towards_sinogram ? 1 / r.tallest : r.lowest, high = towards_sinogram ? 1 / r.lowest : r.tallest;
    constexpr double lanes = simd::native_lanes, cut = (lanes - 1) * 2 * lanes / 256;  // in units of 2^-24
    along = 2 * (1 + 3 * high + cut) / std::min(1.0, low) + 4;
  }
  return (sums + power * (across + along)) * 0x1p-24;
}

}  // namespace mbirk::test
