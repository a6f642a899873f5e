// The boxes of pixels that a warp of cone_gather looks into have all pixels that reach its channels.
#include "mbirk/kernel/device/cone_boxes.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "mbirk/geometry/cone.hpp"
#include "mbirk/simd/warp.hpp"

namespace mbirk {
namespace {

/// A lane of a warp at a time.
struct single_lane {
  static inline int own = 0;

  static int lane() { return own; }
  static unsigned ballot(bool condition) { return condition ? 1u << own : 0; }
  static float divide(float a, float b) { return a / b * (1 + (own % 3 - 1) * 0x1p-22f); }  // off by 2 ulp
  static float larger(float a, float b) { return a < b ? b : a; }
  static float smaller(float a, float b) { return b < a ? b : a; }
};
using lane_backend = simd::warp_backend<single_lane>;

unsigned boxes_of_all_lanes(kernel::cone_view_of_warp const& view, bool curved,
                            kernel::group_boxes<lane_backend> const& boxes, int first, int count) {
  unsigned all = 0;
  for (single_lane::own = 0; single_lane::own < warp_lanes; ++single_lane::own)
    all |= kernel::boxes_that_reach<lane_backend>(view, curved, boxes, first, count);
  if (count < warp_lanes) {
    EXPECT_EQ(all >> count, 0u) << "boxes that do not exist";
  }
  return all;
}

/// Boxes found, and those of them in which a pixel reaches the channels.
struct found_boxes { int all = 0, needed = 0; };

found_boxes check_boxes(cone_geometry const& g, view_position const& at) {
  auto const plan = kernel::plan_grid(g.recon_rows, g.recon_cols, nullptr, g.recon_cols, 1);
  kernel::group_bounds const bounds(plan);
  kernel::group_boxes<lane_backend> const boxes{bounds.doubled_row_center.data(), bounds.row_extent.data(),
                                                bounds.doubled_col_center.data(), bounds.col_extent.data()};
  auto const groups = static_cast<int>(plan.groups.size()), sets = kernel::group_bounds::sets_of(groups);
  found_boxes found;
  for (int channel = 0; channel < g.channels; channel += kernel::gather_channels) {
    kernel::cone_view_of_warp const view(g, at, channel);
    std::vector<unsigned> of_groups, of_sets;
    for (int first = 0; first < groups; first += warp_lanes)
      of_groups.push_back(boxes_of_all_lanes(view, g.curved, boxes, first, groups - first));
    for (int first = 0; first < sets; first += warp_lanes)
      of_sets.push_back(boxes_of_all_lanes(view, g.curved, boxes, kernel::group_bounds::box_of_set(first, sets),
                                           sets - first));
    auto const has = [](std::vector<unsigned> const& masks, int box) {
      return (masks[static_cast<std::size_t>(box / warp_lanes)] >> box % warp_lanes & 1) != 0;
    };
    for (int k = 0; k < groups; ++k) {
      auto const& group = plan.groups[static_cast<std::size_t>(k)];
      bool needed = false;
      auto const begin = static_cast<std::size_t>(group.first), end = begin + static_cast<std::size_t>(group.count);
      for (auto p = begin; p < end; ++p) {
        auto const f = definition::make_cone_footprint(
            g, at.cosine, at.sine, definition::column_x(g, static_cast<double>(plan.cols[p]), at.column_shift),
            definition::row_y(g, static_cast<double>(plan.rows[p]), at.row_shift));
        for (int t = 0; t < kernel::gather_channels && f.channel.chord > 0; ++t)
          needed = needed || definition::overlap(f.channel.centre - (channel + t), f.channel.width) > 0;
      }
      bool const there = has(of_groups, k);
      found.all += there;
      found.needed += needed;
      if (!needed) continue;
      EXPECT_TRUE(there) << "group " << k << ", channel " << channel;
      EXPECT_TRUE(has(of_sets, k / warp_lanes)) << "set of group " << k << ", channel " << channel;
    }
  }
  return found;
}

cone_geometry geometry_of(double source_iso_dist, bool curved, double det_channel_offset = 0) {
  auto p = cone_geometry::typical_scan({1, 2, 60});
  p.source_detector_dist = 240;
  p.source_iso_dist = source_iso_dist;
  p.det_channel_offset = det_channel_offset;
  p.recon_shape = {83, 90, 2};
  p.delta_voxel = 0.7;
  p.use_ror_mask = false;
  auto g = cone_scan(p).geometry();
  g.curved = curved;
  return g;
}
view_position turned(double angle, double column_shift = 0, double row_shift = 0) {
  return {std::cos(angle), std::sin(angle), 0, column_shift, row_shift};
}

TEST(ConeBoxes, HaveAllPixelsThatReachTheChannels) {
  for (bool const curved : {false, true})
    for (double const source : {120.0, 45.0, 33.0}) {
      int shifted = 0;
      for (double const angle : {0.0, 0.3, 1.5707963, 2.2, 4.0}) {
        SCOPED_TRACE(testing::Message() << "source " << source << ", angle " << angle << ", curved " << curved);
        EXPECT_GT(check_boxes(geometry_of(source, curved), turned(angle)).needed, 0);
        // Far enough for some pixels to be beside the source and behind it.
        shifted += check_boxes(geometry_of(source, curved, 7.25), turned(angle, 31.5, -46.25)).needed;
        shifted += check_boxes(geometry_of(source, curved, -3), turned(angle, -40, 52)).needed;
      }
      EXPECT_GT(shifted, 0);
    }
}
TEST(ConeBoxes, OfPixelsWithOtherSides) {
  for (double const side : {0.0, 0.2, 2.5})
    for (double const angle : {0.3, 1.2}) {
      SCOPED_TRACE(testing::Message() << "side " << side << ", angle " << angle);
      auto g = geometry_of(45, false);
      g.delta_y = side > 0 ? side : g.delta_y;
      g.side_extent = side;
      EXPECT_GT(check_boxes(g, turned(angle)).needed, 0);
    }
}
// Pixels as wide as a channel. With an offset near one channel, the first and the last of a box reach the channels of a
// warp by less than float32 can tell.
TEST(ConeBoxes, OfASourceAtInfinity) {
  for (double const offset : {0.0, -1.0, -1 + 1e-8, -1 - 1e-8, -1 + 1e-7, -1 - 1e-7, -1 + 1e-6, -1 - 1e-6}) {
    SCOPED_TRACE(offset);
    auto g = geometry_of(120, false, offset);
    g.delta_x = g.delta_y = g.side_extent = g.delta_det_channel = 1;
    g.inverse_detector_dist = 0;
    g.inverse_magnification = 1;
    EXPECT_GT(check_boxes(g, turned(0)).needed, 0);
    EXPECT_GT(check_boxes(g, turned(0.3)).needed, 0);
  }
}
// More sets than a warp tests at once.
TEST(ConeBoxes, OfManySets) {
  auto g = geometry_of(120, false);
  g.recon_rows = 264;
  g.recon_cols = 256;
  g.delta_x = g.delta_y = g.side_extent = 0.2;
  EXPECT_GT(check_boxes(g, turned(0.3)).needed, 0);
}
TEST(ConeBoxes, AreFewMoreThanNeeded) {
  auto const found = check_boxes(geometry_of(120, false), turned(0.3));
  EXPECT_GT(found.needed, 0);
  EXPECT_LT(found.all, 1.25 * found.needed);
}

}  // namespace
}  // namespace mbirk
