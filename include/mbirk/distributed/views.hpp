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

/// The part of [0, count) that a rank has, if [0, count) is cut into `parts`, of which ranks have consecutive ones.
inline index_range part_of_rank(index_t count, int parts, int rank, int ranks) {
  auto const mine = part_of(parts, rank, ranks);
  index_t const first = part_of(count, mine.first, parts).first;
  return {first, part_of(count, mine.end() - 1, parts).end() - first};
}

/// The pixel rows of an image by bands, of which every rank has some.
class banded_rows {
 public:
  banded_rows(index_t rows, int rank, int ranks) : all_(rows), rank_(rank), ranks_(ranks) {}

  index_range bands(int rank) const { return part_of(row_bands, rank, ranks_); }
  index_range bands() const { return bands(rank_); }
  index_range rows_of_band(index_t band) const { return part_of(all_, band, row_bands); }
  index_range rows_of_bands(index_range some) const {
    index_t const first = rows_of_band(some.first).first;
    return {first, rows_of_band(some.end() - 1).end() - first};
  }
  index_t most_rows_of_a_band() const {
    index_t most = 0;
    for (index_t b = 0; b < row_bands; ++b) most = std::max(most, rows_of_band(b).count);
    return most;
  }
  /// Rows of a rank; without an argument of this one.
  index_range rows(int rank) const { return part_of_rank(all_, row_bands, rank, ranks_); }
  index_range rows() const { return rows(rank_); }
  /// The rows of a rank, and one row beside them at either end where there is one.
  index_range rows_with_neighbours(int rank) const {
    auto const mine = rows(rank);
    if (mine.count == 0) return mine;
    index_t const first = std::max<index_t>(0, mine.first - 1);
    return {first, std::min(all_, mine.end() + 1) - first};
  }
  index_range rows_with_neighbours() const { return rows_with_neighbours(rank_); }
  int owner_of_band(index_t band) const {
    int rank = 0;
    while (bands(rank).end() <= band) ++rank;
    return rank;
  }
  int owner_of_row(index_t row) const {
    int rank = 0;
    while (rows(rank).end() <= row) ++rank;
    return rank;
  }
  bool is_of(int rank, int ranks) const noexcept { return rank == rank_ && ranks == ranks_; }

 private:
  index_t all_;
  int rank_, ranks_;
};

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
  index_range ranges() const { return ranges(rank_); }
  index_range views_of_range(index_t range) const { return part_of(whole_.geometry().views, range, view_ranges); }
  /// Views of a rank; without an argument of this one.
  index_range views(int rank) const { return part_of_rank(whole_.geometry().views, view_ranges, rank, ranks_); }
  index_range views() const { return views(rank_); }
  /// Views of the rank that has the most.
  index_t most_views() const {
    index_t most = 0;
    for (int r = 0; r < ranks_; ++r) most = std::max(most, views(r).count);
    return most;
  }
  /// The bands of pixel rows of all ranks.
  banded_rows by_bands() const { return {whole_.geometry().recon_rows, rank_, ranks_}; }
  index_range bands(int rank) const { return by_bands().bands(rank); }
  index_range bands() const { return by_bands().bands(); }
  index_range rows_of_band(index_t band) const { return by_bands().rows_of_band(band); }
  /// Pixel rows of a rank; without an argument of this one.
  index_range rows(int rank) const { return by_bands().rows(rank); }
  index_range rows() const { return by_bands().rows(); }
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

  /// The scan of the views of a range, which has some, and that of the views of this rank.
  cone_scan scan_of_range(index_t range) const { return scan_of(views_of_range(range), 1); }
  cone_scan scan() const { return scan_of(views(), 1); }
  /// Every step-th view of all ranks.
  cone_scan sampled(index_t step) const { return scan_of({0, whole_.geometry().views}, step); }

 private:
  cone_scan scan_of(index_range views, index_t step) const {
    auto const& g = whole_.geometry();
    auto p = parameters_;
    auto const cut = [&](std::vector<float>& of_views) {
      if (of_views.empty()) return;
      std::vector<float> some;
      for (index_t v = views.first; v < views.end(); v += step) some.push_back(of_views[static_cast<std::size_t>(v)]);
      of_views = std::move(some);
    };
    cut(p.angles);
    cut(p.helical_z_shifts);
    p.sinogram_shape[0] = ceil_div(views.count, step);
    p.recon_shape = whole_.recon_shape();
    p.recon_slice_offset = g.recon_slice_offset;
    p.delta_voxel = g.delta_x;
    return cone_scan(p);
  }

  cone_parameters parameters_;
  cone_scan whole_;
  int rank_, ranks_;
};

}  // namespace mbirk::distributed
