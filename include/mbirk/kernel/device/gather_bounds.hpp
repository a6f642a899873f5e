// Projection as a gather: a warp owns a few channels of one view and searches for the pixels that reach them, first by
// group, then by pixel, one per lane. No atomics, and the order of sums is the same on every device. Works for grids
// and for lists of pixels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mbirk/core/bits.hpp"
#include "mbirk/kernel/shared/plan.hpp"

namespace mbirk::kernel {

/// Channels per warp. Pixels on the border between two warps are processed by both.
inline constexpr int gather_channels = 4;

/// Bounding boxes of the pixels of each group, doubled so that centres are integers: rows
/// doubled_row_center/2 +- row_extent/2. Padded to whole warps.
struct group_bounds {
  std::vector<std::int32_t> doubled_row_center, row_extent, doubled_col_center, col_extent;

  explicit group_bounds(pixel_plan const& plan) {
    for (auto const& group : plan.groups) {
      auto const first = static_cast<std::ptrdiff_t>(group.first);
      auto const range = [&](std::vector<std::int32_t> const& values, std::vector<std::int32_t>& middle,
                             std::vector<std::int32_t>& reach) {
        auto const [low, high] = std::minmax_element(values.begin() + first, values.begin() + first + group.count);
        middle.push_back(*low + *high);
        reach.push_back(*high - *low);
      };
      range(plan.rows, doubled_row_center, row_extent);
      range(plan.cols, doubled_col_center, col_extent);
    }
    auto const padded = static_cast<std::size_t>(round_up(static_cast<index_t>(plan.groups.size()), 32));
    for (auto* v : {&doubled_row_center, &row_extent, &doubled_col_center, &col_extent}) v->resize(padded);
  }
};

/// Calls f(lane) for every set bit.
template <class F> MBIRK_INLINE void for_each_set_bit(unsigned bits, F const& f) {
  for (; bits != 0; bits &= bits - 1) f(mbirk::detail::lowest_bit(bits));
}

/// Visits the groups g + lane for the lanes in a bit mask, in rounds of 32 pixels: calls add(first, count, offset) with
/// the place of the first pixel in the plan, the number of pixels from there on in the group, and the offset of the
/// voxel column of the lane's pixel, or, if there is none, of the last one.
template <class I, class Offsets, class Add>
MBIRK_INLINE void visit_groups(unsigned reached, index_t g, device_span<pixel_group> groups, Offsets offsets,
                               Add const& add) {
  for_each_set_bit(reached, [&](int lane) MBIRK_FLAT {
    pixel_group const group = groups[g + lane];
    for (int k = 0; k < group.count; k += I::lanes) {
      index_t const first = group.first + k;
      auto const last = static_cast<int>(min<index_t>(group.count - k, I::lanes)) - 1;
      add(first, group.count - k,
          I::gather_index(offsets + first, I::broadcast(min(I::element(I::iota()), last))));
    }
  });
}

}  // namespace mbirk::kernel
