// General views: every view has its own source or ray direction, detector centre and detector axes, as in ASTRA's
// cone_vec and parallel3d_vec. Parameters, geometry, validation.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "mbirk/core/vector3.hpp"
#include "mbirk/geometry/scan.hpp"

namespace mbirk {

/// Lengths in one arbitrary unit. The object frame has x along the columns, y along the rows, z along the slices, and
/// its origin in the middle of the grid (for a recon_slice_offset of 0).
struct general_parameters {
  std::array<index_t, 3> sinogram_shape{};  ///< (views, rows, channels)
  /// Twelve numbers per view, one view after the other: the source (or the direction of the rays, see parallel_rays),
  /// the centre of the detector, the step from channel to channel and the step from row to row. They are the numbers of
  /// ASTRA's cone_vec and parallel3d_vec in its order.
  std::vector<double> view_vectors;
  bool parallel_rays = false;  ///< the first three numbers are the direction of parallel rays, of any length from 1e-12
  double delta_det_channel = 1, delta_det_row = 1;    ///< 1: the steps of the views are the pitches
  double det_channel_offset = 0, det_row_offset = 0;  ///< 0: the views place the detector
  std::optional<double> delta_voxel = {};             ///< required, as is recon_shape
  double voxel_row_aspect = 1, voxel_slice_aspect = 1;
  std::optional<std::array<index_t, 3>> recon_shape = {};  ///< (rows, cols, slices)
  double recon_slice_offset = 0;
  mask_setting use_ror_mask = true;
};

/// Views as the user gives them.
struct general_views {
  std::vector<double> view_vectors;  ///< twelve numbers per view

  template <class F> void each(F const& f) const { f("view_vectors", view_vectors); }
};

/// Affine function of the indices of a voxel: base + col j + row i + slice k.
struct voxel_affine { double base, col, row, slice; };

/// A view as the kernels read it. A voxel is projected to channel/depth and row/depth, in detector cells; depth is its
/// distance from the source along the normal of the detector as a part of that of the detector, 1 for parallel rays.
struct general_position {
  voxel_affine depth, channel, row;
  /// Tangents of the angle between a ray and the normal of the detector, across the rows and along them, at detector
  /// cell (m, n): across[0] + across[1] n + across[2] m and along[0] + along[1] m. 0 for parallel rays.
  double across[3], along[2];
  double scale;                         ///< factor of the amplitude, see definition/general.hpp
  double channel_width, row_width;      ///< bounds on the extents of all footprints, in cells
};

/// Projector geometry: trivially copyable; make_geometry validates it.
struct general_geometry {
  static constexpr char const* name = "general";
  static constexpr char const* beam = "general views";
  static constexpr char const* direct_method = no_direct_method;
  static constexpr bool weighs_rays = false;
  static constexpr bool has_slice_damping = false;
  static constexpr bool expects_truncation = false;
  using parameters = general_parameters;
  using view_lists = general_views;
  using position = general_position;

  template <class Parameters, class Row> static void each_scan_parameter(Parameters& p, Row const& row) {
    using namespace detail::rules;
    row("view_vectors", view_rows, p.view_vectors,
        "(source or ray direction, detector centre, step from channel to channel, step from row to row) per view, "
        "three numbers each", true);
    row("parallel_rays", flag, p.parallel_rays, "the views begin with a ray direction instead of a source", false);
  }
  template <class Parameters, class Row> static void each_voxel_parameter(Parameters& p, Row const& row) {
    row("recon_slice_offset", detail::rules::finite_number, p.recon_slice_offset, "> 0: the grid lies at higher z",
        false);
  }
  static double magnification(general_parameters const& p);
  static general_parameters typical_scan(std::array<index_t, 3> const& sinogram_shape);

  index_t views, rows, channels;           // sinogram
  index_t recon_rows, recon_cols, slices;  // reconstruction
  double delta_det_channel;                // mean pitch of the channels
  double delta_x, delta_y, delta_z;        // column pitch, row pitch, slice pitch
  double recon_slice_offset;
  double inverse_magnification;            // 1 / (delta_det_channel mean |grad n|) in the middle of the grid
  bool parallel_rays;
};

using general_scan = scan<general_geometry>;

namespace detail {

/// One view: the vectors of the twelve numbers.
struct general_view {
  vector3 source, detector, u, v;

  static general_view of(std::vector<double> const& vectors, index_t view) {
    auto const* at = &vectors[static_cast<std::size_t>(12 * view)];
    auto const three = [&](int k) { return vector3{at[3 * k], at[3 * k + 1], at[3 * k + 2]}; };
    return {three(0), three(1), three(2), three(3)};
  }
};

/// Centre of voxel (0, 0, 0).
inline vector3 first_voxel(general_geometry const& g) {
  return {-0.5 * static_cast<double>(g.recon_cols - 1) * g.delta_x,
          -0.5 * static_cast<double>(g.recon_rows - 1) * g.delta_y,
          -0.5 * static_cast<double>(g.slices - 1) * g.delta_z + g.recon_slice_offset};
}

/// Depth of a voxel, an affine function of its indices: its distance from the source along the detector's normal,
/// divided by that of the detector; 1 for parallel rays.
inline voxel_affine general_depth(general_geometry const& g, general_view const& s) {
  if (g.parallel_rays) return {1, 0, 0, 0};
  auto const w = cross(s.u, s.v);
  double const per_length = 1 / dot(s.detector - s.source, w);
  return {dot(first_voxel(g) - s.source, w) * per_length, w.x * g.delta_x * per_length, w.y * g.delta_y * per_length,
          w.z * g.delta_z * per_length};
}

/// Calls f(j, i, k) for the corners of the grid, of its voxels' centres widened by `beyond` voxels.
template <class F> void each_corner(general_geometry const& g, double beyond, F const& f) {
  for (int corner = 0; corner < 8; ++corner) {
    auto const at = [&](int bit, index_t cells) {
      return corner >> bit & 1 ? static_cast<double>(cells - 1) + beyond : -beyond;
    };
    f(at(0, g.recon_cols), at(1, g.recon_rows), at(2, g.slices));
  }
}
inline double value_at(voxel_affine const& a, double j, double i, double k) {
  return a.base + a.col * j + a.row * i + a.slice * k;
}

/// Largest step of a cell that lies at `cell`, over the edges of a voxel: the extent of its footprint times its depth.
inline double largest_step(voxel_affine const& a, voxel_affine const& depth, double cell) {
  return std::max({std::abs(a.col - cell * depth.col), std::abs(a.row - cell * depth.row),
                   std::abs(a.slice - cell * depth.slice)});
}

/// Place of a view, see general_position.
inline general_position place_view(general_geometry const& g, general_view const& s) {
  general_position at{};
  at.depth = general_depth(g, s);
  auto const w = cross(s.u, s.v);
  double const square = dot(w, w);
  auto const u = cross(s.v, w) / square, v = cross(w, s.u) / square;  // dual to the steps of the detector
  // Projected along the central ray, so that no term has the size of the distance to the source.
  auto const central = g.parallel_rays ? s.source : s.detector - s.source;
  auto const numerator = [&](vector3 const& dual, index_t cells) -> voxel_affine {
    double const middle = 0.5 * static_cast<double>(cells - 1);
    auto const sheared = dual - w * (dot(central, dual) / dot(central, w));
    return {dot(first_voxel(g) - s.detector, sheared) + middle * at.depth.base,
            sheared.x * g.delta_x + middle * at.depth.col, sheared.y * g.delta_y + middle * at.depth.row,
            sheared.z * g.delta_z + middle * at.depth.slice};
  };
  at.channel = numerator(u, g.channels);
  at.row = numerator(v, g.rows);

  double const distance = dot(central, w) / length(w);
  at.scale = g.delta_x * g.delta_y * g.delta_z / length(w) * length(central) / std::abs(distance);
  if (!g.parallel_rays) {
    auto const across = s.u / length(s.u), along = cross(w, across) / length(w);
    double const n = 0.5 * static_cast<double>(g.channels - 1), m = 0.5 * static_cast<double>(g.rows - 1);
    double const a = dot(central, across) / distance, b = dot(central, along) / distance;
    at.across[1] = length(s.u) / distance;
    at.across[2] = dot(s.v, across) / distance;
    at.across[0] = a - at.across[1] * n - at.across[2] * m;
    at.along[1] = dot(s.v, along) / distance;
    at.along[0] = b - at.along[1] * m;
    at.scale /= std::sqrt((1 + a * a) * (1 + b * b));
  }

  // The extents of a footprint are quotients: numerators |step - position depth step| are largest, and depths least, in
  // corners.
  double nearest = 1e300, wide = 0, tall = 0;
  each_corner(g, 0, [&](double j, double i, double k) {
    double const depth = value_at(at.depth, j, i, k);
    nearest = std::min(nearest, depth);
    wide = std::max(wide, largest_step(at.channel, at.depth, value_at(at.channel, j, i, k) / depth));
    tall = std::max(tall, largest_step(at.row, at.depth, value_at(at.row, j, i, k) / depth));
  });
  at.channel_width = wide / nearest;
  at.row_width = tall / nearest;
  return at;
}

/// Checks the views of a scan or those that replace them. what: their name in messages.
inline void require_general_views(std::vector<double> const& vectors, general_geometry const& g, char const* what) {
  require(vectors.size() % 12 == 0 && std::ssize(vectors) / 12 == g.views, [&] {
    return message(what, " has ", vectors.size(), " values, expected twelve per view, of ", g.views, " views");
  });
  for (std::size_t k = 0; k < vectors.size(); ++k)
    require(std::abs(vectors[k]) <= max_length * max_length, [&] {
      return message(what, ": number ", k % 12, " of view ", k / 12, " is ", vectors[k],
                     ", expected finite numbers of at most ", max_length * max_length);
    });
  constexpr double min_sine = 1e-9;   // below this, two directions count as parallel
  constexpr double min_depth = 1e-9;  // see general_depth
  for (index_t v = 0; v < g.views; ++v) {
    auto const s = general_view::of(vectors, v);
    for (auto const& [step, steps] : {std::pair{length(s.u), "channels"}, std::pair{length(s.v), "rows"}}) {
      require(step >= min_length && step <= max_length, [&] {
        return message(what, ": the step between the ", steps, " of view ", v, " has length ", step, ", expected ",
                       min_length, " to ", max_length);
      });
      for (double const pitch : {g.delta_x, g.delta_y, g.delta_z})
        require(pitch <= max_cells * step && step <= max_cells * pitch, [&] {
          return message(what, ": the step between the ", steps, " of view ", v, " has length ", step,
                         ", expected at most 2^28 times more or less than a pitch of the voxels = ", pitch);
        });
    }
    auto const w = cross(s.u, s.v);
    require(length(w) > min_sine * length(s.u) * length(s.v), [&] {
      return message(what, ": the steps between channels and rows of view ", v,
                     " are parallel, expected two directions");
    });
    auto const ray = g.parallel_rays ? s.source : s.detector - s.source;
    require(length(ray) >= min_length && std::abs(dot(ray, w)) > min_sine * length(ray) * length(w), [&] {
      return message(what, g.parallel_rays ? ": the rays of view " : ": the source of view ", v,
                     g.parallel_rays ? " are 0 or parallel to its detector, expected rays that cross it"
                                     : " lies in the plane of its detector, expected one before it");
    });
    auto const at = place_view(g, s);
    each_corner(g, 0.5, [&](double j, double i, double k) {
      double const depth = value_at(at.depth, j, i, k);
      require(depth > min_depth, [&] {
        return message(what, ": a corner of the reconstruction is ", depth, " of the distance from the source to the ",
                       "detector behind the source of view ", v, ", expected more than ", min_depth,
                       ": the whole grid on the detector's side of the source");
      });
      double const channel = value_at(at.channel, j, i, k) / depth, row = value_at(at.row, j, i, k) / depth;
      require(std::abs(channel) <= max_cells && std::abs(row) <= max_cells, [&] {
        return message(what, ": view ", v, " projects a corner of the reconstruction to channel ", channel, ", row ",
                       row, ", expected at most 2^28 cells away");
      });
    });
  }
}

/// Length of the gradient of the channel in the middle of the grid, in channels per length, mean over the views.
inline double mean_channel_gradient(general_geometry const& g, std::vector<double> const& vectors) {
  double sum = 0;
  for (index_t v = 0; v < g.views; ++v) {
    auto const at = place_view(g, general_view::of(vectors, v));
    double const j = 0.5 * static_cast<double>(g.recon_cols - 1), i = 0.5 * static_cast<double>(g.recon_rows - 1),
                 k = 0.5 * static_cast<double>(g.slices - 1);
    double const depth = value_at(at.depth, j, i, k), cell = value_at(at.channel, j, i, k) / depth;
    sum += length(vector3{(at.channel.col - cell * at.depth.col) / g.delta_x,
                          (at.channel.row - cell * at.depth.row) / g.delta_y,
                          (at.channel.slice - cell * at.depth.slice) / g.delta_z}) /
           depth;
  }
  return g.views > 0 ? sum / static_cast<double>(g.views) : 1;
}

}  // namespace detail

inline general_views make_views(general_parameters const& p) { return {p.view_vectors}; }
inline void require_views(general_geometry const& g, general_views const& v) {
  detail::require_general_views(v.view_vectors, g, "set_views: a list of view vectors");
}
inline std::vector<general_position> place_views(general_geometry const& g, general_views& v) {
  std::vector<general_position> positions;
  for (index_t n = 0; n < g.views; ++n)
    positions.push_back(detail::place_view(g, detail::general_view::of(v.view_vectors, n)));
  return positions;
}
inline std::vector<std::string> scan_warnings(general_parameters const&) { return {}; }

/// General views have no automatic size: the sizes are those that are given.
/// @throws parameter_error when delta_voxel or recon_shape is not given.
MBIRK_COLD inline automatic_size auto_size(general_parameters const& p) {
  require(p.delta_voxel.has_value(), [] {
    return "delta_voxel is not given, expected a length: general views have no automatic size";
  });
  require(p.recon_shape.has_value(), [] {
    return "recon_shape is not given, expected three sizes: general views have no automatic size";
  });
  return {*p.delta_voxel, *p.recon_shape, p.recon_slice_offset};
}

/// @throws parameter_error with the name of the parameter, its value and the expected value.
MBIRK_COLD inline general_geometry make_geometry(general_parameters const& p) {
  detail::require_common(p);
  for (auto const& [given, expected, name] :
       {std::tuple{p.delta_det_channel, 1.0, "delta_det_channel"}, std::tuple{p.delta_det_row, 1.0, "delta_det_row"},
        std::tuple{p.det_channel_offset, 0.0, "det_channel_offset"},
        std::tuple{p.det_row_offset, 0.0, "det_row_offset"}})
    require(given == expected, [&] {
      return detail::message(name, " is ", given, ", expected ", expected,
                             " in general views, whose vectors place the detector");
    });
  detail::require_finite(p.recon_slice_offset, "recon_slice_offset");
  auto const size = auto_size(p);
  detail::require_addressable(p.sinogram_shape, size.recon_shape);
  // Kernels number the samples of a view, with guards and whole packs of rows, by 32 bits.
  constexpr index_t lanes = 32, guards = 8, most = (index_t{1} << 31) - 1;
  require((p.sinogram_shape[1] + lanes) * (p.sinogram_shape[2] + guards) <= most, [&] {
    return "sinogram_shape is " + detail::shape_text(p.sinogram_shape) +
           ", expected (rows + 32) (channels + 8) < 2^31 in general views";
  });
  general_geometry g{.views = p.sinogram_shape[0], .rows = p.sinogram_shape[1], .channels = p.sinogram_shape[2],
                     .recon_rows = size.recon_shape[0], .recon_cols = size.recon_shape[1],
                     .slices = size.recon_shape[2], .delta_det_channel = 1, .delta_x = size.delta_voxel,
                     .delta_y = p.voxel_row_aspect * size.delta_voxel,
                     .delta_z = p.voxel_slice_aspect * size.delta_voxel,
                     .recon_slice_offset = p.recon_slice_offset, .inverse_magnification = 1,
                     .parallel_rays = p.parallel_rays};
  detail::require_length(g.delta_x, "delta_voxel");
  detail::require_length(g.delta_y, "voxel_row_aspect times delta_voxel");
  detail::require_length(g.delta_z, "voxel_slice_aspect times delta_voxel");
  detail::require_position(p.recon_slice_offset, "recon_slice_offset", g.delta_z, "the pitch of the slices");
  detail::require_general_views(p.view_vectors, g, "view_vectors");
  double pitch = 0;
  for (index_t v = 0; v < g.views; ++v) pitch += length(detail::general_view::of(p.view_vectors, v).u);
  if (g.views > 0) g.delta_det_channel = pitch / static_cast<double>(g.views);
  g.inverse_magnification = 1 / (g.delta_det_channel * detail::mean_channel_gradient(g, p.view_vectors));
  return g;
}

inline double general_geometry::magnification(general_parameters const& p) {
  return 1 / make_geometry(p).inverse_magnification;
}

}  // namespace mbirk

#include "mbirk/geometry/view_vectors.hpp"
