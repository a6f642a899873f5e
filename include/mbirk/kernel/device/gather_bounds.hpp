// Projection as a gather: a warp owns a few channels of one view and searches for the pixels that reach them, first by
// group, then by pixel, one per lane. No atomics, and the order of sums is the same on every device. Works for grids
// and for lists of pixels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "mbirk/core/bits.hpp"
#include "mbirk/kernel/shared/plan.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Channels per warp. Pixels on the border between two warps are processed by both.
inline constexpr int gather_channels = 4;

/// Bounding boxes of the pixels of each group, doubled so that centres are integers: rows
/// doubled_row_center/2 +- row_extent/2. Padded to whole warps; behind them are the boxes of sets of 32 successive
/// groups, padded as well.
struct group_bounds {
  static constexpr int set = 32;
  std::vector<std::int32_t> doubled_row_center, row_extent, doubled_col_center, col_extent;

  static MBIRK_HD constexpr int sets_of(int groups) noexcept { return (groups + set - 1) / set; }
  /// Place of the box of a set.
  static MBIRK_HD constexpr int box_of_set(int number, int sets) noexcept { return sets * set + number; }

  explicit group_bounds(pixel_plan const& plan) {
    find(plan, plan.rows, doubled_row_center, row_extent);
    find(plan, plan.cols, doubled_col_center, col_extent);
  }

 private:
  struct range {
    std::int32_t low = std::numeric_limits<std::int32_t>::max(), high = -1;
    void add(std::int32_t lowest, std::int32_t highest) noexcept {
      low = std::min(low, lowest);
      high = std::max(high, highest);
    }
  };
  static void find(pixel_plan const& plan, std::vector<std::int32_t> const& values, std::vector<std::int32_t>& middles,
                   std::vector<std::int32_t>& extents) {
    auto const keep = [&](range const& box) {
      middles.push_back(box.low + box.high);
      extents.push_back(box.high - box.low);
    };
    auto const pad = [&] {
      auto const padded = static_cast<std::size_t>(round_up(std::ssize(middles), index_t{set}));
      middles.resize(padded);
      extents.resize(padded);
    };
    std::vector<range> sets;
    for (auto const& group : plan.groups) {
      if (std::ssize(middles) % set == 0) sets.emplace_back();
      auto const first = values.begin() + static_cast<std::ptrdiff_t>(group.first);
      auto const [low, high] = std::minmax_element(first, first + group.count);
      keep({*low, *high});
      sets.back().add(*low, *high);
    }
    pad();
    for (auto const& box : sets) keep(box);
    pad();
  }
};

/// The boxes of group_bounds in memory that a kernel reads.
template <class I> struct group_boxes {
  using wide = typename I::wide;
  typename I::template cursor<std::int32_t const> doubled_row_center, row_extent, doubled_col_center, col_extent;

  /// Bit mask of the boxes first .. first + 31, of which `count` exist from there on, whose pixels (i, j) may have
  /// |origin + row_step i + col_step j| < reach, with the steps of `view`.
  template <class View>
  MBIRK_INLINE unsigned near(int first, int count, double origin, View const& view, double reach) const noexcept {
    wide const row_half = I::broadcast(0.5 * view.row_step), col_half = I::broadcast(0.5 * view.col_step);
    wide const middle = fma(I::to_wide(I::load_ints(doubled_row_center + first)), row_half,
                            fma(I::to_wide(I::load_ints(doubled_col_center + first)), col_half, I::broadcast(origin)));
    wide const spread = abs(I::to_wide(I::load_ints(row_extent + first)) * row_half) +
        abs(I::to_wide(I::load_ints(col_extent + first)) * col_half);
    auto const none = I::constant(0), one = I::first_lanes(count);
    return I::where(none < one * I::to_pack(select(abs(middle) < spread + I::broadcast(reach), I::broadcast(1.0),
                                                   I::broadcast(0.0))));
  }
};

/// Calls f(lane) for every set bit.
template <class F> MBIRK_INLINE void for_each_set_bit(unsigned bits, F const& f) {
  for (; bits != 0; bits &= bits - 1) f(mbirk::detail::lowest_bit(bits));
}

/// Calls add(first, count) for rounds of 32 pixels of those groups that reach the channels of a warp, with the place of
/// the first pixel in the plan and the number of pixels from there on in the group. reach(first, count) is the bit mask
/// of boxes first .. first + 31 of group_bounds, of which `count` exist from there on.
/// @param all  number of groups, or 0 to visit none
template <class I, class Reach, class Add>
MBIRK_INLINE void visit_groups(device_span<pixel_group> groups, int all, Reach const& reach, Add const& add) {
  constexpr int set = group_bounds::set;
  int const sets = group_bounds::sets_of(all);
  // `at` is both the first set of a round and the set that is visited: a second variable would be spilled.
  MBIRK_KEEP_LOOP for (int at = 0; at < sets; at = (at | (set - 1)) + 1) {
    for (unsigned bits = reach(group_bounds::box_of_set(at, sets), sets - at); bits != 0; bits &= bits - 1) {
      at = (at & -set) + mbirk::detail::lowest_bit(bits);
      for_each_set_bit(reach(at * set, all - at * set), [&](int lane) MBIRK_FLAT {
        pixel_group const group = groups[at * set + lane];
        for (int k = 0; k < group.count; k += I::lanes) add(group.first + k, group.count - k);
      });
    }
  }
}

/// Offset of the voxel column of the lane's pixel in a round, or, if there is none, of the last one.
template <class I, class Offsets>
MBIRK_INLINE index_t offset_of_lane(Offsets offsets, index_t first, int count) {
  int const last = min(count, int{I::lanes}) - 1;
  return I::gather_index(offsets + first, I::broadcast(min(I::element(I::iota()), last)));
}

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
