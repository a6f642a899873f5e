// How views are shared out in cone beam, where every view sees every voxel: a rank has consecutive views, and a band of
// pixel rows of the image.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mbirk/distributed/slices.hpp"
#include "mbirk/geometry/scan.hpp"

namespace mbirk::distributed {

/// Back projections are computed by this many ranges of views, which are added as a binary tree, and by as many bands
/// of pixel rows, so that no bit depends on how many of them a rank has.
inline constexpr int view_ranges = 16, row_bands = 16;

/// The part-th of `parts` nearly equal parts of [0, count).
inline index_range part_of(index_t count, index_t part, index_t parts) {
  index_t const first = count * part / parts;
  return {first, count * (part + 1) / parts - first};
}

/// The part of a cone-beam scan that a rank has.
class cone_views {
 public:
  /// @throws parameter_error for parameters that cone_scan refuses, for more ranks than views or ranges of them, and if
  ///         a rank would have no views, because there are fewer views than ranges
  cone_views(cone_parameters parameters, int rank, int ranks)
      : parameters_(std::move(parameters)), whole_(parameters_), rank_(rank), ranks_(ranks) {
    auto const& g = whole_.geometry();
    auto const most = [&](index_t limit, char const* what) {
      require(ranks >= 1 && ranks <= limit, [&] {
        return mbirk::detail::message(ranks, " ranks for ", limit, " ", what, ", expected at most ", limit);
      });
    };
    most(g.views, "views");
    most(view_ranges, "ranges of views, by which cone beam is shared out");
    for (int r = 0; r < ranks; ++r)
      require(views(r).count > 0, [&] {
        return mbirk::detail::message(ranks, " ranks for ", g.views, " views in ", view_ranges, " ranges: rank ", r,
                                      " would have none, expected fewer ranks");
      });
  }

  cone_scan const& whole() const noexcept { return whole_; }
  cone_parameters const& parameters() const noexcept { return parameters_; }
  int ranks() const noexcept { return ranks_; }
  bool is_of(int rank) const noexcept { return rank == rank_; }
  index_range ranges(int rank) const { return part_of(view_ranges, rank, ranks_); }
  index_range views_of_range(index_t range) const { return part_of(whole_.geometry().views, range, view_ranges); }
  /// Views of a rank; without an argument of this one.
  index_range views(int rank) const {
    auto const of_rank = ranges(rank);
    index_t const first = views_of_range(of_rank.first).first;
    return {first, views_of_range(of_rank.end() - 1).end() - first};
  }
  index_range views() const { return views(rank_); }
  /// Views of the rank that has the most.
  index_t most_views() const {
    index_t most = 0;
    for (int r = 0; r < ranks_; ++r) most = std::max(most, views(r).count);
    return most;
  }
  index_range bands(int rank) const { return part_of(row_bands, rank, ranks_); }
  index_range rows_of_band(index_t band) const { return part_of(whole_.geometry().recon_rows, band, row_bands); }
  /// Pixel rows of a rank; without an argument of this one.
  index_range rows(int rank) const {
    auto const of_rank = bands(rank);
    index_t const first = rows_of_band(of_rank.first).first;
    return {first, rows_of_band(of_rank.end() - 1).end() - first};
  }
  index_range rows() const { return rows(rank_); }
  /// Pixels inside the mask in some rows, ascending.
  std::span<std::int32_t const> pixels(index_range rows) const {
    auto const all = whole_.full_indices();
    auto const cols = whole_.geometry().recon_cols;
    auto const first = std::lower_bound(all.begin(), all.end(), rows.first * cols),
               end = std::lower_bound(first, all.end(), rows.end() * cols);
    return all.subspan(static_cast<std::size_t>(first - all.begin()), static_cast<std::size_t>(end - first));
  }
  /// Shapes of the arrays of this rank: (views, rows, channels) and (rows of pixels, cols, slices).
  std::array<index_t, 3> sinogram_shape() const {
    auto const& g = whole_.geometry();
    return {views().count, g.rows, g.channels};
  }
  std::array<index_t, 3> recon_shape() const {
    auto const& g = whole_.geometry();
    return {rows().count, g.recon_cols, g.slices};
  }

  /// The scan of the views of a range, which has some.
  cone_scan scan_of_range(index_t range) const {
    auto const& g = whole_.geometry();
    auto const [first, count] = views_of_range(range);
    auto p = parameters_;
    auto const cut = [&](std::vector<float>& of_views) {
      if (!of_views.empty()) of_views = {of_views.begin() + first, of_views.begin() + first + count};
    };
    cut(p.angles);
    cut(p.helical_z_shifts);
    p.sinogram_shape[0] = count;
    p.recon_shape = whole_.recon_shape();
    p.recon_slice_offset = g.recon_slice_offset;
    p.delta_voxel = g.delta_x;
    return cone_scan(p);
  }

 private:
  cone_parameters parameters_;
  cone_scan whole_;
  int rank_, ranks_;
};

}  // namespace mbirk::distributed
