#include "mbirk/geometry/mask.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace {

using namespace mbirk;

index_t count(std::vector<std::uint8_t> const& mask) { return std::accumulate(mask.begin(), mask.end(), index_t{0}); }

/// Integer version of the ellipse for a square grid, in which every pixel on it counts as inside.
index_t exact_count(index_t side) {
  index_t n = 0;
  for (index_t i = 0; i < side; ++i)
    for (index_t j = 0; j < side; ++j) {
      index_t const across = 2 * j - (side - 1), down = 2 * i - (side - 1);
      n += across * across + down * down <= (side - 1) * (side - 1);
    }
  return n;
}

TEST(Mask, SmallGrids) {
  EXPECT_EQ(count(ror_mask(3, 3)), 5);
  EXPECT_EQ(count(ror_mask(4, 4)), 4);
  EXPECT_EQ(count(ror_mask(5, 5)), 13);
  EXPECT_EQ(ror_mask(3, 3), (std::vector<std::uint8_t>{0, 1, 0, 1, 1, 1, 0, 1, 0}));
  EXPECT_EQ(ror_mask(4, 4), (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0}));
}

TEST(Mask, GridsWithoutAnInside) {
  for (index_t n : {1, 2, 3, 7, 30}) {
    EXPECT_EQ(count(ror_mask(1, n)), 0) << "1 x " << n;
    EXPECT_EQ(count(ror_mask(n, 1)), 0) << n << " x 1";
  }
  EXPECT_EQ(count(ror_mask(2, 2)), 0);
  EXPECT_TRUE(ror_mask(0, 5).empty());
  EXPECT_TRUE(ror_mask(5, 0).empty());
}

TEST(Mask, PixelsOnTheEllipseThatRoundingExcludes) {
  for (index_t side : {27, 53, 79, 105}) EXPECT_EQ(count(ror_mask(side, side)), exact_count(side) - 8) << side;
  for (index_t side : {25, 26, 28, 51, 101}) EXPECT_EQ(count(ror_mask(side, side)), exact_count(side)) << side;
}

TEST(Mask, LargeGrid) {
  EXPECT_EQ(count(ror_mask(992, 992)), 771240);
  EXPECT_EQ(full_indices(ror_mask(992, 992)).size(), 771240u);
}

TEST(Mask, SymmetricAndRowConvex) {
  index_t const rows = 11, cols = 18;
  auto const mask = ror_mask(rows, cols);
  auto const at = [&](index_t i, index_t j) { return mask[static_cast<std::size_t>(i * cols + j)]; };
  for (index_t i = 0; i < rows; ++i) {
    int changes = 0;
    for (index_t j = 0; j < cols; ++j) {
      EXPECT_EQ(at(i, j), at(rows - 1 - i, j)) << i << ", " << j;
      EXPECT_EQ(at(i, j), at(i, cols - 1 - j)) << i << ", " << j;
      changes += j > 0 && at(i, j) != at(i, j - 1);
    }
    EXPECT_LE(changes, 2) << i;
  }
  EXPECT_EQ(at(5, 0), 1) << "the ends of the axes are inside";
  EXPECT_EQ(at(0, 8), 0) << "8 is half a column from the axis, where the ellipse is below row 0";
  EXPECT_EQ(count(ror_mask(cols, rows)), count(mask)) << "transposed";
}

/// The documented formula, one pixel at a time.
bool inside(double i, double j, double rows, double cols, double less_rows, double less_cols) {
  double const c_r = (rows - 1) / 2, c_c = (cols - 1) / 2;
  double const across = (j - c_c) / (c_c - less_cols), down = (i - c_r) / (c_r - less_rows);
  return across * across + down * down <= 1.0 + 1e-12;  // used away from the ellipse only
}

TEST(Mask, CropInPixelsAndByFraction) {
  index_t const rows = 21, cols = 32;  // semi-axes 10 and 15.5
  auto const expect = [&](mask_crop crop, double less_rows, double less_cols) {
    auto const mask = ror_mask(rows, cols, crop);
    index_t expected = 0;
    for (index_t i = 0; i < rows; ++i)
      for (index_t j = 0; j < cols; ++j)
        expected += inside(static_cast<double>(i), static_cast<double>(j), static_cast<double>(rows),
                           static_cast<double>(cols), less_rows, less_cols);
    EXPECT_EQ(count(mask), expected) << crop.fraction << ", " << crop.pixels;
    EXPECT_LT(count(mask), count(ror_mask(rows, cols)));
  };
  expect({.pixels = 3}, 3, 3);
  expect({.fraction = 0.25}, 2, 3);  // trunc(2.5), trunc(3.875)
  EXPECT_EQ(ror_mask(rows, cols, {.pixels = -4}), ror_mask(rows, cols)) << "a negative crop does not grow the ellipse";
  EXPECT_EQ(ror_mask(rows, cols, {.fraction = 0.05}), ror_mask(rows, cols)) << "less than a pixel is cut to 0";
}

TEST(Mask, CropsExclude) {
  EXPECT_THROW(ror_mask(9, 9, {.fraction = 0.1, .pixels = 1}), parameter_error);
  EXPECT_NO_THROW(ror_mask(9, 9, {.fraction = 0.1}));
}

TEST(Mask, Settings) {
  EXPECT_EQ(make_mask(6, 7, true), ror_mask(6, 7));
  EXPECT_EQ(make_mask(6, 7, false), std::vector<std::uint8_t>(42, 1));
  mask_array const own{{2, 3}, {0, 1, 1, 1, 0, 0}};
  EXPECT_EQ(make_mask(2, 3, own), own.values);
  EXPECT_THROW(make_mask(3, 2, own), parameter_error);
  EXPECT_THROW(make_mask(2, 3, mask_array{{2, 3}, {0, 1, 1}}), parameter_error) << "fewer values than the shape says";
  EXPECT_THROW(make_mask(2, 2, mask_array{{2, 2}, {0, 1, 255, 1}}), parameter_error);
}

TEST(Mask, FullIndicesAreAscendingPixelsInside) {
  EXPECT_EQ(full_indices(ror_mask(3, 3)), (std::vector<std::int32_t>{1, 3, 4, 5, 7}));
  EXPECT_EQ(full_indices({0, 1, 1, 1, 0, 0}), (std::vector<std::int32_t>{1, 2, 3}));
  EXPECT_TRUE(full_indices(ror_mask(2, 2)).empty());
  auto const all = full_indices(std::vector<std::uint8_t>(12, 1));
  for (std::size_t k = 0; k < all.size(); ++k) EXPECT_EQ(all[k], static_cast<std::int32_t>(k));
}

}  // namespace
