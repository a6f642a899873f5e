// A subset of an iterative reconstruction by ranks that have views: every rank projects all of its pixels, and updates
// the voxels of those in its own bands of rows. Not for users.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "mbirk/distributed/view_tree.hpp"
#include "mbirk/recon/vcd_subset.hpp"

namespace mbirk::distributed::detail {

using namespace mbirk::detail;

/// Pixels of a list that some rows have: its entries are ascending.
inline kernel::entry_range entries_of(std::span<std::int32_t const> ascending, index_range rows, index_t cols) {
  auto const before = [&](index_t row) {
    return std::lower_bound(ascending.begin(), ascending.end(), row * cols) - ascending.begin();
  };
  return {before(rows.first), before(rows.end())};
}

/// A subset is back projected piece by piece, so that the sums of all ranges need little memory: pieces of at least so
/// many pixels, which are all pixels of one or several bands.
inline constexpr index_t least_pixels_of_piece = 2048;
inline index_t pieces_of_subset(index_t pixels) {
  auto const most = std::clamp<index_t>(pixels / least_pixels_of_piece, 1, row_bands);
  return static_cast<index_t>(std::bit_floor(static_cast<std::uint64_t>(most)));
}

template <class Context> class subset_of_views : public vcd_subset<Context> {
 public:
  struct piece {
    piece(Context const& ctx, tree_piece columns, kernel::pixel_plan planned)
        : cut(std::move(columns)), plan(ctx, std::move(planned)) {}

    tree_piece cut;
    device_plan<Context> plan;
  };
  /// Pixels of a row beside those of this rank.
  class row_beside {
    std::vector<std::int32_t> listed_;
    std::vector<kernel::entry_range> cuts_;

   public:
    row_beside(Context const& ctx, index_t first, std::vector<std::int32_t> listed)
        : listed_(std::move(listed)),
          cuts_(kernel::chunk_without_splitting_duplicates(
              listed_, entries_of_update_range<Context>(std::ssize(listed_)))),
          first_entry(first),
          pixels(ctx, listed_, "row beside"),
          ranges(ctx, cuts_, "ranges of pixels") {}

    index_t first_entry;                         ///< of the subset
    device_table<std::int32_t, Context> pixels;  ///< counted from the first row that the rank holds
    device_table<kernel::entry_range, Context> ranges;
  };

  template <class Part>
  subset_of_views(Context const& ctx, Part const& part, std::span<std::int32_t const> ascending, index_t rows,
                  index_t cols, index_t slices, bool damped)
      : vcd_subset<Context>(ctx, part, ascending, rows, cols, slices, damped),
        ranges_of_band_(ranges_for(pixels_of_band(ascending))),
        local_(make_local(part.views(), ascending, rows, cols, slices, damped)),
        own_(ctx, local_.pixels, std::move(local_.plan), std::move(local_.cuts), std::move(local_.small_groups)) {
    auto const& views = part.views();
    for (index_t n = 0, count = pieces_of_subset(std::ssize(ascending)); n < count; ++n) {
      auto const bands = part_of(row_bands, n, count);
      auto const [first, end] = entries_of(ascending, views.by_bands().rows_of_bands(bands), cols);
      tree_piece cut{{views.by_bands().owner_of_band(bands.first), 0}, {}};
      cut.owners.count = views.by_bands().owner_of_band(bands.end() - 1) + 1 - cut.owners.first;
      for (int r = 0; r < views.ranks(); ++r)
        cut.cuts.push_back(std::clamp(entries_of(ascending, views.rows(r), cols).first, first, end) - first);
      cut.cuts.push_back(end - first);
      auto const part_of_list = ascending.subspan(static_cast<std::size_t>(first),
                                                  static_cast<std::size_t>(end - first));
      pieces_.emplace_back(ctx, std::move(cut), kernel::plan_list(part_of_list, rows, cols, slices));
    }
    for (int r = 0; r < views.ranks(); ++r) {
      auto const entries = entries_of(ascending, views.rows(r), cols);
      entries_of_ranks_.push_back(entries.last - entries.first);
    }
    add_rows_beside(ctx, views, ascending, cols);
  }

  /// The pixels of this rank, counted from its first row.
  vcd_subset<Context> const& own() const noexcept { return own_; }
  /// Groups of pixels, and ranges of them, of the n-th band of this rank.
  index_range groups_of(index_t n) const { return between(local_.band_groups, n); }
  index_range ranges_of(index_t n) const { return between(local_.band_ranges, n); }
  /// About how many ranges of pixels a band has, the same on every rank.
  index_t ranges_of_band() const noexcept { return ranges_of_band_; }
  std::deque<piece> const& pieces() const noexcept { return pieces_; }
  index_t most_columns() const {
    index_t most = 0;
    for (auto const& p : pieces_) most = std::max(most, p.cut.columns());
    return most;
  }
  std::vector<index_t> const& entries_of_ranks() const noexcept { return entries_of_ranks_; }
  /// None, one or two.
  std::deque<row_beside> const& rows_beside() const noexcept { return beside_; }

 private:
  /// The pixels of this rank, band by band.
  struct local_list {
    std::vector<std::int32_t> pixels;
    kernel::pixel_plan plan;
    std::vector<kernel::entry_range> cuts;
    std::vector<kernel::pixel_group> small_groups;  // on a device
    std::vector<index_t> band_groups{0}, band_ranges{0};
  };

  static index_t pixels_of_band(std::span<std::int32_t const> ascending) {
    return ceil_div(std::ssize(ascending), row_bands);
  }
  static index_t ranges_for(index_t pixels) {
    return ceil_div(pixels, entries_of_update_range<Context>(pixels));
  }
  static index_range between(std::vector<index_t> const& firsts, index_t n) {
    auto const at = static_cast<std::size_t>(n);
    return {firsts[at], firsts[at + 1] - firsts[at]};
  }
  static local_list make_local(cone_views const& views, std::span<std::int32_t const> ascending, index_t rows,
                               index_t cols, index_t slices, bool damped) {
    local_list local;
    // Tasks have as many pixels on every rank, however many ranks there are. With slice damping their sums need memory,
    // and one rank may have all of them.
    index_t const of_band = pixels_of_band(ascending),
                  of_task = pixels_of_direction_task(damped ? std::ssize(ascending) : of_band, damped),
                  of_range = entries_of_update_range<Context>(of_band);
    index_t const first_row = views.rows().first;
    auto const [first, end] = entries_of(ascending, views.rows(), cols);
    for (index_t e = first; e < end; ++e)
      local.pixels.push_back(static_cast<std::int32_t>(ascending[static_cast<std::size_t>(e)] - first_row * cols));
    auto const bands = views.bands();
    for (index_t b = bands.first; b < bands.end(); ++b) {
      auto const entries = entries_of(ascending, views.rows_of_band(b), cols);
      index_t const at = entries.first - first;
      auto const pixels = ascending.subspan(static_cast<std::size_t>(entries.first),
                                            static_cast<std::size_t>(entries.last - entries.first));
      auto plan = kernel::plan_list(pixels, rows, cols, slices);
      for (auto& row : plan.rows) row -= static_cast<std::int32_t>(first_row);
      auto const append = [&](auto& all, auto const& of_plan) {
        all.insert(all.end(), of_plan.begin(), of_plan.begin() + plan.pixels);
      };
      for (auto& group : plan.groups) group.first += at;
      for (auto& offset : plan.offsets) offset += at * slices;
      append(local.plan.rows, plan.rows);
      append(local.plan.cols, plan.cols);
      append(local.plan.offsets, plan.offsets);
      local.plan.groups.insert(local.plan.groups.end(), plan.groups.begin(), plan.groups.end());
      for (auto const& [begin, last] : kernel::chunk_without_splitting_duplicates(pixels, of_range))
        local.cuts.push_back({at + begin, at + last});
      if constexpr (on_device<Context>) append_pixel_groups(local.small_groups, at, std::ssize(pixels), of_task);
      local.band_groups.push_back(std::ssize(on_device<Context> ? local.small_groups : local.plan.groups));
      local.band_ranges.push_back(std::ssize(local.cuts));
    }
    local.plan.finish();
    return local;
  }
  void add_rows_beside(Context const& ctx, cone_views const& views, std::span<std::int32_t const> ascending,
                       index_t cols) {
    auto const mine = views.rows(), held = views.by_bands().rows_with_neighbours();
    auto const add = [&](index_t row) {
      auto const [first, end] = entries_of(ascending, {row, 1}, cols);
      std::vector<std::int32_t> pixels;
      for (index_t e = first; e < end; ++e)
        pixels.push_back(static_cast<std::int32_t>(ascending[static_cast<std::size_t>(e)] - held.first * cols));
      beside_.emplace_back(ctx, first, std::move(pixels));
    };
    if (held.first < mine.first) add(held.first);
    if (mine.end() < held.end()) add(mine.end());
  }

  index_t ranges_of_band_;
  local_list local_;
  vcd_subset<Context> own_;  // refers to the pixels of local_
  std::deque<piece> pieces_;
  std::vector<index_t> entries_of_ranks_;
  std::deque<row_beside> beside_;
};

/// The direction of the subset that is being updated: that of the pixels of this rank, and that of all pixels.
template <class Context, communicator Comm> class step_of_views {
 public:
  template <class Part, class Subsets>
  step_of_views(Context const& ctx, Part const& part, Subsets const& subsets, index_t pixels, index_t slices,
                bool damped)
      : slices_(slices),
        direction_(ctx, "direction of the rank", most(subsets, [](auto const& s) { return s.own().size(); }) * slices),
        curvature_(ctx, "curvature", damped ? direction_.size() : 0),
        shared_(ctx, "direction", pixels * slices),
        messages_(ctx, part.ranks(), shared_.size()),
        tree_(ctx, part.ranks(), part.views(), most(subsets, [](auto const& s) { return s.most_columns(); }), slices) {
  }

  /// (pixels of the rank, slices)
  temporary<float, Context> const& direction() const noexcept { return direction_; }
  temporary<float, Context> const& curvature() const noexcept { return curvature_; }
  /// Makes shared() the direction of all pixels. Collective.
  void share(subset_of_views<Context> const& subset) {
    auto floats = subset.entries_of_ranks();
    for (auto& n : floats) n *= slices_;
    messages_.all_gather("direction", direction_.data(), std::move(floats), shared_.data());
  }
  temporary<float, Context> const& shared() const noexcept { return shared_; }
  view_tree<Context, Comm>& tree() noexcept { return tree_; }

 private:
  template <class Subsets, class Size> static index_t most(Subsets const& subsets, Size const& size) {
    index_t found = 0;
    for (auto const& s : subsets) found = std::max<index_t>(found, size(*s));
    return found;
  }

  index_t slices_;
  temporary<float, Context> direction_, curvature_, shared_;
  value_messages<Context, Comm> messages_;
  view_tree<Context, Comm> tree_;
};

}  // namespace mbirk::distributed::detail
