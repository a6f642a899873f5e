// The order of work: every pixel exactly once, in groups no larger than a task can hold.
#include "mbirk/kernel/shared/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "mbirk/geometry/mask.hpp"
#include "mbirk/kernel/device/gather_bounds.hpp"
#include "mbirk/kernel/host/parallel_back.hpp"
#include "mbirk/kernel/shared/layout.hpp"

namespace {

using namespace mbirk;
using kernel::pixel_plan;

/// Groups follow one another without gaps, hold 1 to 64 pixels, and the arrays are padded for whole packs.
void expect_groups(pixel_plan const& plan) {
  index_t next = 0;
  for (auto const& g : plan.groups) {
    EXPECT_EQ(g.first, next);
    EXPECT_TRUE(g.count >= 1 && g.count <= kernel::group_pixels) << g.count;
    next += g.count;
  }
  EXPECT_EQ(next, plan.pixels);
  EXPECT_EQ(static_cast<index_t>(plan.offsets.size()), plan.pixels);
  EXPECT_GE(static_cast<index_t>(plan.rows.size()), plan.pixels + 15)
      << "a pack that begins at the last pixel is read as a whole";
  EXPECT_EQ(plan.rows.size(), plan.cols.size());
}

std::array<index_t, 2> const grids[] = {{1, 1}, {8, 8}, {7, 9}, {16, 8}, {17, 31}, {1, 40}, {40, 1}, {64, 65}};

TEST(PlanGrid, EveryPixelOnceInTilesOfTheGrid) {
  for (auto const& [rows, cols] : grids) {
    auto const plan = kernel::plan_grid(rows, cols, nullptr, 1000, 7);
    expect_groups(plan);
    std::set<std::pair<index_t, index_t>> seen;
    for (auto const& g : plan.groups) {
      EXPECT_EQ(std::popcount(g.tile_mask), g.count);
      auto bits = g.tile_mask;
      index_t const i0 = plan.rows[static_cast<std::size_t>(g.first)] / 8 * 8,
                    j0 = plan.cols[static_cast<std::size_t>(g.first)] / 8 * 8;
      for (int k = 0; k < g.count; ++k, bits &= bits - 1) {
        auto const at = static_cast<std::size_t>(g.first + k);
        index_t const i = plan.rows[at], j = plan.cols[at];
        EXPECT_TRUE(i >= 0 && i < rows && j >= 0 && j < cols) << i << ", " << j;
        EXPECT_EQ(8 * (i - i0) + (j - j0), std::countr_zero(bits)) << "the mask says which pixel of the tile this is";
        EXPECT_EQ(plan.offsets[at], 1000 * i + 7 * j);
        EXPECT_TRUE(seen.insert({i, j}).second) << "twice: " << i << ", " << j;
      }
    }
    EXPECT_EQ(static_cast<index_t>(seen.size()), rows * cols);
  }
}

TEST(PlanGrid, OnlyPixelsInsideTheMask) {
  for (auto const& [rows, cols] : grids) {
    auto const mask = ror_mask(rows, cols);
    auto const plan = kernel::plan_grid(rows, cols, mask.data(), cols, 1);
    expect_groups(plan);
    std::set<std::int32_t> seen;
    for (index_t p = 0; p < plan.pixels; ++p)
      seen.insert(static_cast<std::int32_t>(plan.offsets[static_cast<std::size_t>(p)]));
    auto const inside = full_indices(mask);
    EXPECT_EQ(seen, std::set<std::int32_t>(inside.begin(), inside.end())) << rows << " x " << cols;
    EXPECT_EQ(plan.pixels, static_cast<index_t>(inside.size())) << "none twice";
  }
}

TEST(PlanGrid, NothingInsideIsNoGroup) {
  std::vector<std::uint8_t> const nothing(64);
  EXPECT_TRUE(kernel::plan_grid(8, 8, nothing.data(), 8, 1).groups.empty());
  EXPECT_TRUE(kernel::plan_grid(0, 5, nullptr, 5, 1).groups.empty());
  EXPECT_TRUE(kernel::plan_grid(5, 0, nullptr, 0, 1).groups.empty());
}

TEST(PlanList, EveryEntryOnceWithItsOwnCylinder) {
  std::mt19937 engine(5);
  for (auto const& [rows, cols] : grids)
    for (std::size_t const count : {1, 5, 63, 64, 65, 300}) {
      std::vector<std::int32_t> list(count);
      for (auto& p : list)
        p = static_cast<std::int32_t>(engine() % static_cast<unsigned>(rows * cols));  // in no order, some twice
      for (auto const order : {kernel::list_order::rows_of_squares, kernel::list_order::hilbert_curve}) {
        auto const plan = kernel::plan_list(list, rows, cols, 13, order);
        expect_groups(plan);
        ASSERT_EQ(plan.pixels, static_cast<index_t>(count));
        std::vector<bool> seen(count);
        for (std::size_t k = 0; k < count; ++k) {
          ASSERT_EQ(plan.offsets[k] % 13, 0);
          auto const entry = static_cast<std::size_t>(plan.offsets[k] / 13);
          ASSERT_LT(entry, count);
          EXPECT_FALSE(seen[entry]) << "twice: " << entry;
          seen[entry] = true;
          EXPECT_EQ(plan.rows[k] * cols + plan.cols[k], list[entry]);
        }
        for (auto const& g : plan.groups) EXPECT_EQ(g.tile_mask, 0u) << "no tile";
      }
    }
}

TEST(PlanList, EmptyListAndEmptyGrid) {
  for (auto const order : {kernel::list_order::rows_of_squares, kernel::list_order::hilbert_curve}) {
    EXPECT_TRUE(kernel::plan_list({}, 5, 7, 3, order).groups.empty());
    EXPECT_TRUE(kernel::plan_list({}, 0, 0, 3, order).groups.empty());
  }
}

// Neighbours in the grid share a group: a task that takes 64 of the 4096 pixels of a shuffled grid covers only a part
// of it.
TEST(PlanList, GroupsAreCompact) {
  std::vector<std::int32_t> list(64 * 64);
  for (std::size_t k = 0; k < list.size(); ++k) list[k] = static_cast<std::int32_t>(k);
  std::shuffle(list.begin(), list.end(), std::mt19937(9));
  auto const plan = kernel::plan_list(list, 64, 64, 1);
  for (auto const& g : plan.groups) {
    auto const row = plan.rows.begin() + g.first, col = plan.cols.begin() + g.first;
    EXPECT_LE(*std::max_element(row, row + g.count) - *std::min_element(row, row + g.count), 8);
    EXPECT_LE(*std::max_element(col, col + g.count) - *std::min_element(col, col + g.count), 24);
  }
}
// Along the curve, successive pixels of a sparse subset lie in a region whose sides are near those of a square with
// their share of the grid, whatever their number.
TEST(PlanList, RunsAlongTheCurveAreCompact) {
  std::vector<std::int32_t> list;
  for (std::int32_t p = 0; p < 256 * 256; p += 13) list.push_back(p);
  std::shuffle(list.begin(), list.end(), std::mt19937(9));
  auto const mean_sides = [&](kernel::list_order order, std::ptrdiff_t run) {
    auto const plan = kernel::plan_list(list, 256, 256, 1, order);
    double sides = 0;
    int runs = 0;
    for (std::ptrdiff_t first = 0; first + run <= std::ssize(list); first += run, ++runs)
      for (auto const* values : {&plan.rows, &plan.cols}) {
        auto const [low, high] = std::minmax_element(values->begin() + first, values->begin() + first + run);
        sides += static_cast<double>(*high - *low + 1);
      }
    return sides / (2 * runs);
  };
  for (std::ptrdiff_t const run : {64, 384, 1000}) {
    double const least = std::sqrt(13.0 * static_cast<double>(run));
    EXPECT_LT(mean_sides(kernel::list_order::hilbert_curve, run), 1.5 * least) << run;
  }
  // Rows of squares are long.
  EXPECT_GT(mean_sides(kernel::list_order::rows_of_squares, 1000), 1.4 * std::sqrt(13000.0));
}
// Long grids have a curve for each square part, and no more numbers than squares of these parts.
TEST(HilbertCurve, NumbersOfLongGridsAreDifferentAndFew) {
  for (auto const& [rows, cols] : {std::pair<index_t, index_t>{1, 100000}, {100000, 1}, {5, 37}, {64, 200}, {33, 32}}) {
    kernel::hilbert_squares const curve(rows, cols);
    index_t const side = std::bit_ceil(static_cast<std::size_t>(std::min(rows, cols)));
    EXPECT_EQ(curve.count(), round_up(std::max(rows, cols), side) * side);
    std::vector<bool> seen(static_cast<std::size_t>(curve.count()));
    for (index_t row = 0; row < rows; ++row)
      for (index_t col = 0; col < cols; ++col) {
        auto const k = static_cast<std::size_t>(curve.position(row, col));
        ASSERT_LT(k, seen.size());
        ASSERT_FALSE(seen[k]);
        seen[k] = true;
      }
  }
}
TEST(HilbertCurve, VisitsEverySquareByStepsToNeighbours) {
  for (int const bits : {0, 1, 2, 3, 4, 5}) {
    index_t const side = index_t{1} << bits;
    std::vector<std::pair<index_t, index_t>> at(static_cast<std::size_t>(side * side), {-1, -1});
    for (index_t row = 0; row < side; ++row)
      for (index_t col = 0; col < side; ++col)
        at.at(static_cast<std::size_t>(kernel::hilbert_position(bits, row, col))) = {row, col};
    for (std::size_t k = 0; k < at.size(); ++k) {
      ASSERT_GE(at[k].first, 0) << bits << ' ' << k;
      if (k == 0) continue;
      ASSERT_EQ(std::abs(at[k].first - at[k - 1].first) + std::abs(at[k].second - at[k - 1].second), 1)
          << bits << ' ' << k;
    }
  }
}

TEST(GroupBounds, SetsHoldTheBoxesOfTheirGroups) {
  auto const mask = ror_mask(300, 290);
  auto const plan = kernel::plan_grid(300, 290, mask.data(), 290, 1);
  kernel::group_bounds const bounds(plan);
  auto const groups = plan.groups.size(), set = std::size_t{kernel::group_bounds::set}, sets = (groups + set - 1) / set;
  ASSERT_GT(sets, set);
  ASSERT_NE(groups % set, 0u);
  auto const check = [&](auto const& values, auto const& middles, auto const& extents) {
    ASSERT_EQ(middles.size(), extents.size());
    ASSERT_GE(middles.size(), sets * set + (sets + set - 1) / set * set);
    auto const low = [&](std::size_t box) { return (middles[box] - extents[box]) / 2; };
    auto const high = [&](std::size_t box) { return (middles[box] + extents[box]) / 2; };
    for (std::size_t g = 0; g < groups; ++g) {
      auto const first = values.begin() + static_cast<std::ptrdiff_t>(plan.groups[g].first);
      auto const [least, most] = std::minmax_element(first, first + plan.groups[g].count);
      EXPECT_EQ(low(g), *least);
      EXPECT_EQ(high(g), *most);
    }
    for (std::size_t k = 0; k < sets; ++k) {
      std::vector<std::int32_t> lows, highs;
      for (std::size_t g = k * set; g < std::min(groups, (k + 1) * set); ++g) {
        lows.push_back(low(g));
        highs.push_back(high(g));
      }
      EXPECT_EQ(low(sets * set + k), std::ranges::min(lows));
      EXPECT_EQ(high(sets * set + k), std::ranges::max(highs));
    }
  };
  check(plan.rows, bounds.doubled_row_center, bounds.row_extent);
  check(plan.cols, bounds.doubled_col_center, bounds.col_extent);
}
TEST(GroupBounds, OfNoGroupsAreNone) {
  kernel::group_bounds const bounds(kernel::plan_grid(0, 0, nullptr, 0, 0));
  EXPECT_TRUE(bounds.doubled_row_center.empty());
  EXPECT_TRUE(bounds.col_extent.empty());
}

TEST(Chunks, CoverTheRows) {
  for (index_t rows = 0; rows <= 300; ++rows)
    for (int const lanes : {4, 8, 16})
      for (index_t const most : {1, 2, 4, 8}) {
        auto const s = kernel::make_chunks(3, 5, rows, lanes, most);
        EXPECT_LE(s.packs, most);
        EXPECT_EQ(s.width, s.packs * lanes);
        EXPECT_GE(s.chunks * s.width, rows);
        EXPECT_LT((s.chunks - 1) * s.width, std::max<index_t>(1, rows)) << "no chunk without rows";
        index_t used = 0;
        for (index_t c = 0; c < s.chunks; ++c) used += s.used(c);
        EXPECT_EQ(used, rows);
        EXPECT_EQ(s.view_size(), (5 + 2 * kernel::guard_channels) * s.width);
        EXPECT_EQ(s.offset(s.chunks - 1, 2) + s.view_size(), s.size()) << "the last view ends the array";
      }
}

TEST(Scratch, PartsAreAlignedAndDisjoint) {
  kernel::scratch_layout layout;
  auto const a = layout.add<float>("a", 3), b = layout.add<double>("b", 9), c = layout.add<std::int32_t>("c", 0),
             d = layout.add<char>("d", 65);
  EXPECT_EQ(a.offset, 0);
  EXPECT_EQ(b.offset, 64);
  EXPECT_EQ(c.offset, 64 + 128);
  EXPECT_EQ(d.offset, 64 + 128);
  EXPECT_EQ(layout.bytes(), 64 + 128 + 128);
  EXPECT_EQ(layout.parts(), 4);
  EXPECT_STREQ(layout[1].name, "b");
  EXPECT_EQ(b.id, 1);
}

TEST(WithConstant, CallsOnceWithTheNumber) {
  for (int n = 1; n <= 4; ++n) {
    int calls = 0, value = 0;
    kernel::with_packs<simd::native_backend, 4>(n, [&](auto constant) { ++calls, value = constant; });
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(value, n);
  }
}

}  // namespace
