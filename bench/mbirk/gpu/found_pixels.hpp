// Counts the groups of pixels and the pixels that reach the channels of the warps of a gathering projection, in sampled
// views. kernel/device/gather_bounds.hpp has the rule.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

#include "mbirk/definition/cone.hpp"
#include "mbirk/geometry/list.hpp"
#include "mbirk/kernel/device/gather_bounds.hpp"
#include "mbirk/kernel/shared/plan.hpp"

namespace mbirk::program::gpu {

inline constexpr int lanes = 32;

inline double real(index_t n) { return static_cast<double>(n); }
inline double real(std::size_t n) { return static_cast<double>(n); }

/// Pixels as the kernels visit them, and the views that are looked at.
struct visited {
  kernel::pixel_plan plan;
  kernel::group_bounds bounds;
  std::vector<std::size_t> views;  ///< sampled
  double weight;                   ///< views per sampled view
};
/// @param listed  the pixels; empty: the mask, or all
template <class Scan> visited visit_pixels(Scan const& s, std::vector<std::int32_t> const& listed, bool masked) {
  constexpr std::size_t sampled_views = 16;
  auto const& g = s.geometry();
  auto plan = !listed.empty()
                  ? kernel::plan_list(listed, g.recon_rows, g.recon_cols, g.slices, kernel::list_order::hilbert_curve)
                  : kernel::plan_grid(g.recon_rows, g.recon_cols, masked ? s.mask().data() : nullptr,
                                      g.recon_cols * g.slices, g.slices);
  kernel::group_bounds bounds(plan);
  auto const views = static_cast<std::size_t>(g.views), step = std::max<std::size_t>(1, views / sampled_views);
  std::vector<std::size_t> sampled;
  for (auto v = step / 2; v < views; v += step) sampled.push_back(v);
  double const weight = real(views) / real(sampled.size());
  return {std::move(plan), std::move(bounds), std::move(sampled), weight};
}

/// Work of the warps of a gathering projection, or of sets of them, over all views.
struct found_pixels {
  double sets = 0, groups = 0, pixel_rounds = 0, hits = 0;  ///< sets: of groups
  double two = 0, three = 0;  ///< hits by the form of the vertical resampling, in cone beam
};

/// Warps of a gathering projection that share what they load: those of so many neighbouring views and channels.
struct warps_together {
  std::size_t views = 1;
  index_t channels = kernel::gather_channels;
};
found_pixels found_by(parallel_scan const& s, visited const& seen, warps_together together);
found_pixels found_by(cone_scan const& s, visited const& seen, warps_together together);
found_pixels found_by(translation_scan const& s, visited const& seen, warps_together together);

/// Footprint of the pixel at (row, col), which need not be whole numbers.
inline auto footprint_at(cone_geometry const& g, view_position const& at, double row, double col) {
  return definition::make_cone_footprint(g, at.cosine, at.sine, definition::column_x(g, col, at.column_shift),
                                         definition::row_y(g, row, at.row_shift));
}

}  // namespace mbirk::program::gpu
