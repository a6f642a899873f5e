#include "mbirk/definition/footprint.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>

namespace {

using namespace mbirk;
using namespace mbirk::definition;

double const eps = std::numeric_limits<double>::epsilon();
double const widths[] = {0.01, 0.3, 0.5, 0.75, 0.999, 1.0, 1.001, 1.5, 1.8, 2.0, 2.3, 3.0, 4.7, 7.0, 12.25};

/// The overlap of [-1/2, 1/2] + d and [-w/2, w/2], as intervals.
double interval_overlap(double d, double w) {
  return std::max(0.0, std::min(d + 0.5, w / 2) - std::max(d - 0.5, -w / 2));
}

// Both sides are three roundings of numbers of size (w + 1)/2 + |d|.
TEST(Overlap, IsTheOverlapOfTwoIntervals) {
  for (double const w : widths)
    for (double d = -w - 2; d <= w + 2; d += 0.037)
      EXPECT_NEAR(overlap(d, w), interval_overlap(d, w), 3 * eps * (w + 2)) << d << ", " << w;
}

TEST(Overlap, Support) {
  for (double const w : widths) {
    EXPECT_EQ(overlap((w + 1) / 2, w), 0) << w;
    EXPECT_EQ(overlap(-(w + 1) / 2 - 0.1, w), 0) << w;
    EXPECT_GT(overlap((w + 1) / 2 - 1e-6, w), 0) << w;
    EXPECT_EQ(overlap(0.0, w), std::min(1.0, w)) << w;
    for (double centre = 0; centre < 1; centre += 0.0625) {
      int hit = 0;
      for (int n = -20; n <= 20; ++n) hit += overlap(centre - n, w) > 0;
      EXPECT_LE(hit, std::ceil(w) + 1) << centre << ", " << w;
    }
  }
}

// A sum of at most w + 1 terms of at most 1, each with the rounding errors bounded in the test above.
TEST(Overlap, MassIsTheWidth) {
  for (double const w : widths)
    for (double centre = -0.5; centre < 0.5; centre += 0.03) {
      double sum = 0;
      for (int n = -20; n <= 20; ++n) sum += overlap(centre - n, w);
      EXPECT_NEAR(sum, w, 3 * (w + 2) * (w + 2) * eps) << centre << ", " << w;
    }
}

/// The forms that start at the left edge, against overlap(): e is known to a rounding of its size, then three more.
struct LeftEdge : ::testing::TestWithParam<double> {
  double const width = GetParam();
  template <class F> void at_centres(F const& f) const {
    for (double centre = -3; centre < 9; centre += 0.0371) {
      double const edge = left_edge(centre, width), cell = std::floor(edge);
      f(centre, static_cast<int>(cell), edge - cell);
    }
    for (double centre : {0.0, 0.5, 1.0, width / 2, width / 2 + 0.5}) {  // ties
      double const edge = left_edge(centre, width), cell = std::floor(edge);
      f(centre, static_cast<int>(cell), edge - cell);
    }
  }
  double const tolerance = 4 * eps * (9 + width);
};
struct NarrowEdge : LeftEdge {};  // spans two cells
struct MediumEdge : LeftEdge {};  // spans three cells

TEST_P(LeftEdge, FirstCellIsTheFirstThatIsHit) {
  at_centres([&](double centre, int cell, double f) {
    EXPECT_NEAR(overlap(centre - (cell - 1), width), 0, tolerance) << centre;
    EXPECT_TRUE(f >= 0 && f < 1) << centre;
    double const last = std::ceil(f + width);  // beyond the last
    EXPECT_NEAR(overlap(centre - (cell + last), width), 0, tolerance) << centre;
  });
}

TEST_P(LeftEdge, TapForm) {
  at_centres([&](double centre, int cell, double f) {
    for (int t = 0; t <= static_cast<int>(std::ceil(width)) + 1; ++t)
      EXPECT_NEAR(overlap_tap(f, width, static_cast<double>(t)), overlap(centre - (cell + t), width), tolerance)
          << centre << ", " << t;
  });
}

TEST_P(NarrowEdge, TwoForm) {
  at_centres([&](double centre, int cell, double f) {
    auto const w = overlap_two(f, width);
    EXPECT_NEAR(w.first, overlap(centre - cell, width), tolerance) << centre;
    EXPECT_NEAR(w.second, overlap(centre - (cell + 1), width), tolerance) << centre;
    EXPECT_NEAR(w.first + w.second, width, 2 * eps) << centre;
  });
}

TEST_P(MediumEdge, ThreeForm) {
  at_centres([&](double centre, int cell, double f) {
    auto const w = overlap_three(f, width);
    EXPECT_NEAR(w.first, overlap(centre - cell, width), tolerance) << centre;
    EXPECT_NEAR(w.second, overlap(centre - (cell + 1), width), tolerance) << centre;
    EXPECT_NEAR(w.third, overlap(centre - (cell + 2), width), tolerance) << centre;
  });
}
INSTANTIATE_TEST_SUITE_P(Widths, LeftEdge, ::testing::ValuesIn(widths));
INSTANTIATE_TEST_SUITE_P(Widths, NarrowEdge, ::testing::Values(0.01, 0.3, 0.5, 0.75, 0.999, 1.0));
INSTANTIATE_TEST_SUITE_P(Widths, MediumEdge, ::testing::Values(0.01, 0.5, 0.999, 1.0, 1.001, 1.5, 1.8, 2.0));

TEST(Coordinates, PixelGridIsCentredOnTheAxis) {
  parallel_geometry g{};
  g.recon_rows = 5, g.recon_cols = 4, g.delta_x = 0.5, g.delta_y = 2;
  EXPECT_EQ(column_x(g, 0.0), -0.75);
  EXPECT_EQ(column_x(g, 3.0), 0.75);
  EXPECT_EQ(row_y(g, 2.0), 0);
  EXPECT_EQ(row_y(g, 4.0), 4);
}

TEST(Coordinates, DetectorCellAndSlice) {
  EXPECT_EQ(detector_cell(0.0, 0.0, 1.0, 8), 3.5) << "the middle";
  EXPECT_EQ(detector_cell(1.0, 0.5, 0.25, 8), 9.5) << "a positive offset moves the image up";
  cone_geometry g{};
  g.slices = 4, g.delta_z = 0.5, g.recon_slice_offset = 1, g.rows = 6, g.delta_det_row = 0.5, g.det_row_offset = 0.25;
  EXPECT_EQ(slice_z(g, 0.0, 0.25), 0.0);  // 0.5 (0 - 1.5) + 1 - 0.25
  EXPECT_EQ(slice_z(g, 3.0, 0.25), 1.5);
  EXPECT_EQ(detector_row(g, 2.0, 0.5), 5.0);  // (2 * 0.5 + 0.25) / 0.5 + 2.5
}

TEST(Coordinates, ParallelFootprint) {
  parallel_geometry g{};
  g.channels = 8, g.delta_det_channel = 0.5, g.det_channel_offset = 0.25, g.delta_x = 0.4, g.delta_y = 0.6;
  for (double angle = -4; angle < 4; angle += 0.3) {
    double const c = std::cos(angle), s = std::sin(angle), x = 1.7, y = -0.9,
                 extent = std::max(std::abs(c) * 0.4, std::abs(s) * 0.6);
    auto const f = parallel_footprint(g, c, s, x, y);
    EXPECT_NEAR(f.centre, (c * x - s * y + 0.25) / 0.5 + 3.5, 10 * 8 * eps) << angle;
    EXPECT_NEAR(f.width, extent / 0.5, 4 * eps) << angle;
    EXPECT_NEAR(f.chord, 0.24 / extent, 4 * eps) << angle;
  }
}

/// The specification's form, with its angles: u = g x or D atan2(x, D/M - y), beta, F with theta - beta, W_c = g
/// F/(delta_c kappa).
cone_footprint<double> by_angles(cone_geometry const& g, double theta, double x, double y) {
  double const dist = 1 / g.inverse_detector_dist, iso = g.inverse_magnification * dist;
  double const xr = std::cos(theta) * x - std::sin(theta) * y, yr = std::sin(theta) * x + std::cos(theta) * y;
  double const m = dist / (iso - yr);
  double const u = g.curved ? dist * std::atan2(xr, iso - yr) : m * xr,
               beta = g.curved ? u / dist : std::atan2(u, dist);
  double const kappa = g.curved ? 1 : std::cos(beta);
  double const extent =
      std::max(std::abs(std::cos(theta - beta)) * g.delta_x, std::abs(std::sin(theta - beta)) * g.delta_y);
  return {{(u + g.det_channel_offset) / g.delta_det_channel + 0.5 * static_cast<double>(g.channels - 1),
           m * extent / (g.delta_det_channel * kappa), g.delta_x * g.delta_y / extent},
          m,
          m * g.delta_z / g.delta_det_row,
          g.delta_det_row / (m * g.delta_z)};
}

// Bound: about 20 roundings of relative size eps / 2 on either side, of numbers up to 40.
TEST(Coordinates, ConeFootprintIsTheFormWithAngles) {
  for (bool const curved : {false, true}) {
    cone_geometry g{};
    g.channels = 16, g.delta_det_channel = 0.7, g.det_channel_offset = -0.3, g.delta_det_row = 0.9, g.delta_x = 0.4,
    g.delta_y = g.side_extent = 0.55, g.delta_z = 0.3;
    g.inverse_magnification = 14.0 / 24, g.inverse_detector_dist = 1.0 / 24, g.curved = curved;
    for (double theta = -4; theta < 4; theta += 0.37)
      for (double x = -5; x <= 5; x += 1.3)
        for (double y = -5; y <= 5; y += 1.1) {
          auto const f = make_cone_footprint(g, std::cos(theta), std::sin(theta), x, y),
                     expected = by_angles(g, theta, x, y);
          EXPECT_NEAR(f.channel.centre, expected.channel.centre, 40 * 40 * eps);
          EXPECT_NEAR(f.channel.width, expected.channel.width, 40 * 4 * eps);
          EXPECT_NEAR(f.channel.chord, expected.channel.chord, 40 * 2 * eps);
          EXPECT_NEAR(f.magnification, expected.magnification, 40 * 4 * eps);
          EXPECT_NEAR(f.row_width, expected.row_width, 40 * 4 * eps);
          EXPECT_NEAR(f.inverse_row_width, expected.inverse_row_width, 40 * 4 * eps);
        }
  }
}

TEST(Coordinates, BehindTheSourceNothingIsSeen) {
  cone_geometry g{};
  g.channels = 16, g.delta_det_channel = g.delta_det_row = g.delta_x = g.delta_y = g.delta_z = 1;
  g.inverse_magnification = 0.5, g.inverse_detector_dist = 0.05;  // D = 20, D_0 = 10
  EXPECT_EQ(make_cone_footprint(g, 1.0, 0.0, 3.0, 10.0).channel.chord, 0) << "beside it";
  EXPECT_EQ(make_cone_footprint(g, 1.0, 0.0, 3.0, 14.0).channel.chord, 0) << "behind it";
  EXPECT_GT(make_cone_footprint(g, 1.0, 0.0, 3.0, 9.0).channel.chord, 0);
}

}  // namespace
