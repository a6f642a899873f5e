// Translation: flat cone beam without rotation, in which every view shifts the object by a vector. Parameters,
// geometry, automatic sizing.
#pragma once

#include <algorithm>
#include <utility>

#include "mbirk/geometry/scan.hpp"

namespace mbirk {

/// Parameters with the names and defaults of MBIRJAX. Lengths in one arbitrary unit. Empty optionals are sized
/// automatically.
struct translation_parameters {
  std::array<index_t, 3> sinogram_shape{};  ///< (views, rows, channels)
  /// (x, y, z) of every view, one after the other. Positive x shifts the object's image to lower channels, z to lower
  /// rows; positive y moves the object away from the source.
  std::vector<float> translation_vectors;
  double source_detector_dist = 0, source_iso_dist = 0;
  double delta_det_channel = 1, delta_det_row = 1;
  double det_channel_offset = 0, det_row_offset = 0;
  std::optional<double> delta_voxel = {};
  /// Rows may be much longer than columns, because the scan hardly resolves depth.
  std::optional<double> voxel_row_aspect = {};
  double voxel_slice_aspect = 1;
  std::optional<std::array<index_t, 3>> recon_shape = {};  ///< (rows, cols, slices)
  mask_setting use_ror_mask = false;
};

/// Translations in a plane: view r n_x + c has ((c - (n_x - 1)/2) x_spacing, 0, (r - (n_z - 1)/2) z_spacing).
/// @return (x, y, z) of every view, one after the other.
/// @throws parameter_error for negative counts or spacings that are not finite.
inline std::vector<float> gen_translation_vectors(index_t num_x_translations, index_t num_z_translations,
                                                  double x_spacing, double z_spacing) {
  for (auto const& [n, name] : {std::pair{num_x_translations, "num_x_translations"},
                                std::pair{num_z_translations, "num_z_translations"}})
    require(n >= 0 && n <= index_t{1} << 20, [&] {
      return detail::message("gen_translation_vectors: ", name, " is ", n, ", expected 0 to 2^20");
    });
  detail::require_finite(x_spacing, "gen_translation_vectors: x_spacing");
  detail::require_finite(z_spacing, "gen_translation_vectors: z_spacing");
  std::vector<float> vectors;
  auto const place = [](index_t k, index_t count, double spacing) {
    return static_cast<float>((static_cast<double>(k) - static_cast<double>(count - 1) / 2) * spacing);
  };
  for (index_t r = 0; r < num_z_translations; ++r)
    for (index_t c = 0; c < num_x_translations; ++c)
      vectors.insert(vectors.end(),
                     {place(c, num_x_translations, x_spacing), 0.0f, place(r, num_z_translations, z_spacing)});
  return vectors;
}

/// Translations as the user gives them.
struct translation_views {
  std::vector<float> translation_vectors;  ///< (x, y, z) of every view

  template <class F> void each(F const& f) const { f("translation_vectors", translation_vectors); }
};

/// Projector geometry: cone beam at angle 0, in which a footprint is never wider than its pixel's columns, and whose
/// view positions shift the object.
struct translation_geometry : cone_geometry {
  static constexpr char const* name = "translation";
  static constexpr char const* beam = "translation";
  static constexpr bool has_slice_damping = false;
  static constexpr bool expects_truncation = true;
  using parameters = translation_parameters;
  using view_lists = translation_views;

  template <class Parameters, class Row> static void each_scan_parameter(Parameters& p, Row const& row) {
    using namespace detail::rules;
    row("translation_vectors", vectors, p.translation_vectors,
        "(x, y, z) by which a view shifts the object towards lower channels, away from the source, and towards lower "
        "rows; stored as float32", true);
    row("source_detector_dist", positive_number, p.source_detector_dist, "from the source to the detector", true);
    row("source_iso_dist", positive_number, p.source_iso_dist, "from the source to the middle of the grid", true);
  }
  template <class Parameters, class Row> static void each_voxel_parameter(Parameters&, Row const&) {}
  /// Sets the options of reconstruction whose defaults are not those of other geometries.
  template <class Options> static void set_defaults(Options& o) {
    o.qggmrf_nbr_wts = {0.1, 1, 1};
    o.max_alpha = 1.3;
  }
  static double magnification(translation_parameters const& p) { return p.source_detector_dist / p.source_iso_dist; }
  /// A raster of translations over half the width and height of the object, which is as deep as it is wide but has rows
  /// four times as long, with a magnification of 2; for profiles and benchmarks.
  static translation_parameters typical_scan(std::array<index_t, 3> const& sinogram_shape) {
    auto const [views, rows, channels] = sinogram_shape;
    double const width = static_cast<double>(channels), height = static_cast<double>(rows);
    index_t const across = std::max<index_t>(1, std::llround(std::ceil(std::sqrt(static_cast<double>(views)))));
    index_t const down = ceil_div(std::max<index_t>(1, views), across);
    auto vectors = gen_translation_vectors(across, down, 0.25 * width / static_cast<double>(across),
                                           0.25 * height / static_cast<double>(down));
    vectors.resize(static_cast<std::size_t>(3 * views));
    return {.sinogram_shape = sinogram_shape,
            .translation_vectors = std::move(vectors),
            .source_detector_dist = 4 * width,
            .source_iso_dist = 2 * width,
            .delta_voxel = 0.5,
            .voxel_row_aspect = 4.0,
            .recon_shape = std::array<index_t, 3>{std::max<index_t>(1, channels / 4), channels, rows}};
  }
};
using translation_scan = scan<translation_geometry>;

namespace detail {

/// Checks the vectors of a scan or those that replace them. what: their name in messages.
inline void require_translations(std::vector<float> const& vectors, index_t views, cone_geometry const& g,
                                 char const* what) {
  double const half_depth = static_cast<double>(g.recon_rows) * g.delta_y / 2,
      iso_dist = g.inverse_magnification / g.inverse_detector_dist;
  for (index_t v = 0; v < views; ++v) {
    auto const at = [&](index_t axis) { return static_cast<double>(vectors[static_cast<std::size_t>(3 * v + axis)]); };
    require_position(at(0), what, g.delta_x, "the pitch of the columns");
    require_position(at(1), what, g.delta_y, "the pitch of the rows");
    require_position(at(2), what, g.delta_z, "the pitch of the slices");
    // MBIRJAX does not notice this, because it takes the largest y for the nearest.
    require(iso_dist - half_depth + at(1) > 0, [&] {
      return message("source_iso_dist is ", iso_dist, ", expected more than half the depth of the reconstruction = ",
                     half_depth, " plus the y = ", -at(1), " by which view ", v, " moves it towards the source");
    });
  }
}
inline void require_translation_count(std::vector<float> const& vectors, index_t views, char const* what) {
  require(std::ssize(vectors) == 3 * views, [&] {
    return message(what, " has ", vectors.size(), " values, expected three per view = ", 3 * views);
  });
  for (auto const t : vectors) require_finite(t, what);
}

}  // namespace detail

inline translation_views make_views(translation_parameters const& p) { return {p.translation_vectors}; }
inline void require_views(translation_geometry const& g, translation_views const& v) {
  constexpr char const* what = "set_views: a list of translation vectors";
  detail::require_translation_count(v.translation_vectors, g.views, what);
  detail::require_translations(v.translation_vectors, g.views, g, "set_views: a translation vector's component");
}
inline std::vector<view_position> place_views(translation_geometry const& g, translation_views& v) {
  std::vector<view_position> positions;
  for (std::size_t k = 0; k + 2 < v.translation_vectors.size(); k += 3) {
    auto const* t = &v.translation_vectors[k];
    positions.push_back({.cosine = 1, .sine = 0, .z_shift = t[2], .column_shift = t[0] / g.delta_x,
                         .row_shift = t[1] / g.delta_y});
  }
  return positions;
}
MBIRK_COLD inline std::vector<std::string> scan_warnings(translation_parameters const& p) {
  return detail::steepness_warnings(p);
}

/// Rays run along the rows, and the object fills half of their length.
inline double object_length(translation_geometry const& g) {
  return 0.5 * static_cast<double>(g.recon_rows) * g.delta_y;
}

/// As MBIRJAX 0.7.3 sizes the grid, in float32. With pi = (delta_r, delta_c)/M and s = (C delta_c, R delta_r)/(4 D):
/// delta = max(pi); delta_y = max(4 pi/s, delta), unless voxel_row_aspect is given and not 1; columns and slices cover
/// the range of the translations; rows = min(2 ceil(R C V/((N_c + R)(S + C))), floor((D_0 - range of y)/delta_y)). The
/// pairs of pi and s, and of N_c and R, are MBIRJAX's.
MBIRK_COLD inline automatic_size auto_size(translation_parameters const& p) {
  auto const f32 = [](double x) { return static_cast<float>(x); };
  auto const [views, rows, channels] = p.sinogram_shape;
  // XLA divides arrays by a number by multiplying with its reciprocal.
  float const per_m = 1 / f32(p.source_detector_dist / p.source_iso_dist), per_dist = 1 / f32(p.source_detector_dist);
  float const pitch[] = {f32(p.delta_det_row) * per_m, f32(p.delta_det_channel) * per_m};
  float const slope[] = {f32(p.delta_det_channel * static_cast<double>(channels)) / 4 * per_dist,
                         f32(p.delta_det_row * static_cast<double>(rows)) / 4 * per_dist};
  float const widest = std::max(pitch[0], pitch[1]);
  float const nominal = std::max(4 * pitch[0] / slope[0], 4 * pitch[1] / slope[1]);
  automatic_size size;
  size.delta_voxel = static_cast<double>(widest);
  double delta_y = static_cast<double>(std::max(nominal, widest));
  size.voxel_row_aspect = p.voxel_row_aspect.value_or(1);
  if (size.voxel_row_aspect == 1) size.voxel_row_aspect = delta_y / size.delta_voxel;
  else delta_y = size.voxel_row_aspect * size.delta_voxel;

  float range[3] = {};
  for (std::size_t axis = 0; axis < 3; ++axis) {
    float low = 0, high = 0;
    for (std::size_t k = axis; k < p.translation_vectors.size(); k += 3) {
      float const t = p.translation_vectors[k];
      low = k == axis ? t : std::min(low, t);
      high = k == axis ? t : std::max(high, t);
    }
    range[axis] = high - low;
  }
  float const cols = std::ceil(range[0] / f32(size.delta_voxel)),
              slices = std::ceil(range[2] / f32(p.voxel_slice_aspect * size.delta_voxel));
  float const per_view = (cols + f32(static_cast<double>(rows))) * (slices + f32(static_cast<double>(channels))) /
      f32(static_cast<double>(views));
  float const wanted = 2 * std::ceil(f32(static_cast<double>(rows * channels)) / per_view),
              most = std::floor((f32(p.source_iso_dist) - range[1]) / f32(delta_y));
  auto const count = [](float x) { return detail::to_count(static_cast<double>(x)); };
  size.recon_shape = {count(std::min(wanted, most)), count(cols), count(slices)};
  return size;
}

/// @throws parameter_error with the name of the parameter, its value and the expected value.
MBIRK_COLD inline translation_geometry make_geometry(translation_parameters const& p) {
  detail::require_common(p);
  detail::require_translation_count(p.translation_vectors, p.sinogram_shape[0], "translation_vectors");
  detail::require_positive(p.source_detector_dist, "source_detector_dist");
  detail::require_positive(p.source_iso_dist, "source_iso_dist");
  auto const automatic = auto_size(p);
  double const delta = p.delta_voxel.value_or(automatic.delta_voxel);
  detail::cone_grid const grid{p.recon_shape.value_or(automatic.recon_shape), delta,
                               p.voxel_row_aspect.value_or(automatic.voxel_row_aspect) * delta,
                               p.voxel_slice_aspect * delta, 0};
  require(grid.shape[0] > 0 && grid.shape[1] > 0 && grid.shape[2] > 0, [&] {
    return "recon_shape is " + detail::shape_text(grid.shape) + ", expected three sizes >= 1" +
           (p.recon_shape ? "" : "; automatic sizing covers the range of the translations only");
  });
  translation_geometry g{detail::make_flat_cone(p, grid)};
  g.side_extent = 0;
  detail::require_translations(p.translation_vectors, g.views, g, "translation_vectors: a component");
  return g;
}

}  // namespace mbirk
