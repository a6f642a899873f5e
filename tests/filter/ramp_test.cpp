// The taps, weights and scales of the ramp filter.
#include "mbirk/definition/ramp.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "mbirk/kernel/shared/ramp_filter.hpp"

namespace {

using namespace mbirk;

constexpr double pi = definition::pi;

TEST(RampTap, IsTheSincFormula) {
  auto const sinc = [](double t) { return t == 0 ? 1 : std::sin(pi * t) / (pi * t); };
  for (int d = 0; d < 300; ++d) {
    double const n = d, half = sinc(n / 2);
    EXPECT_NEAR(definition::ramp_tap(n), sinc(n) / 2 - half * half / 4, 1e-16)
        << d;  // sin(pi n) is off by 2^-53 pi n, the rest is smaller
  }
  EXPECT_EQ(definition::ramp_tap(0.0), 0.25);
  for (int d = 2; d < 3000; d += 2) EXPECT_EQ(definition::ramp_tap(static_cast<double>(d)), 0.0);
}

// The filter has no response to a constant: all taps sum to 0. The taps cut off at C sum to 2 sum over odd d >= C of
// 1/(pi d)^2, between two integrals.
TEST(RampTap, SumsToWhatIsCutOff) {
  for (int const C : {3, 101, 1001}) {
    double sum = definition::ramp_tap(0.0);
    for (int d = 1; d < C; ++d) sum += 2 * definition::ramp_tap(static_cast<double>(d));
    EXPECT_GT(sum, 1 / (pi * pi * (C + 1))) << C;
    EXPECT_LT(sum, 1 / (pi * pi * (C - 1))) << C;
  }
}

TEST(RampTap, OverFloat) {
  for (int d = 0; d < 2000; ++d) {
    float const t = definition::ramp_tap(static_cast<float>(d));
    double const exact = definition::ramp_tap(static_cast<double>(d));
    EXPECT_NEAR(static_cast<double>(t), exact, 0x1p-22 * std::abs(exact)) << d;  // 4 roundings
  }
}

/// These steps in float32 variables, which the compiler may not fuse.
float tap_in_float32(int d) {
  auto const sinc = [](float x) -> float {
    if (x == 0) return 1;
    float volatile const t = static_cast<float>(pi) * x;
    float volatile const s = static_cast<float>(std::sin(static_cast<double>(t)));
    float volatile const quotient = s / t;
    return quotient;
  };
  float const n = static_cast<float>(d), half = sinc(0.5f * n);
  float volatile const square = half * half;
  float volatile const first = 0.5f * sinc(n), second = 0.25f * square;
  float volatile const tap = first - second;
  return tap;
}

TEST(RampTap, Float32HasTheBitsOfFloat32Arithmetic) {
  double worst = 0;
  for (int d = 0; d < 1025; ++d) {
    float const tap = definition::ramp_tap_float32(d);
    EXPECT_EQ(tap, tap_in_float32(d)) << d;
    EXPECT_EQ(tap, definition::ramp_tap_float32(-d)) << d;
    worst = std::max(worst, std::abs(static_cast<double>(tap) - definition::ramp_tap(static_cast<double>(d))));
  }
  EXPECT_EQ(definition::ramp_tap_float32(0), 0.25f);
  EXPECT_NEAR(definition::ramp_tap_float32(2), 1.39e-8, 0.005e-8);  // MBIRJAX 0.7.3 has this value instead of 0
  EXPECT_NEAR(worst, 4.25e-8, 0.005e-8);
}

TEST(RampTap, TableHasEveryDistance) {
  for (index_t const channels : {1, 2, 3, 4, 7, 8}) {
    auto const t = kernel::make_ramp_table(channels, true, [](index_t d) { return static_cast<double>(d) + 1; });
    ASSERT_EQ(t.half, (channels + 1) / 2);
    ASSERT_EQ(t.taps.size(), static_cast<std::size_t>(4 * t.half + 1));
    auto const at = [&](index_t k) { return t.taps[static_cast<std::size_t>(k)]; };
    for (index_t x = -t.half; x < t.half; ++x) {
      EXPECT_EQ(at(t.half + x), static_cast<float>(std::abs(2 * x + 1) + 1));
      EXPECT_EQ(at(3 * t.half + x), x == 0 ? 0.0f : static_cast<float>(std::abs(2 * x) + 1));
    }
    EXPECT_EQ(at(4 * t.half), 1.0f);
  }
}

TEST(RampScale, OfBothGeometries) {
  parallel_parameters p{
      .sinogram_shape = {10, 3, 8}, .angles = std::vector<float>(10), .delta_det_channel = 0.7, .delta_voxel = 0.5};
  p.voxel_row_aspect = 1.5, p.recon_shape = {{4, 4, 3}};
  EXPECT_NEAR(definition::ramp_scale(make_geometry(p)), pi / 10 / (0.5 * 0.75), 1e-15);
  cone_parameters c{.sinogram_shape = {10, 3, 8},
                    .angles = std::vector<float>(10),
                    .source_detector_dist = 60,
                    .source_iso_dist = 40};
  c.delta_det_row = 1.3, c.delta_voxel = 0.5, c.voxel_row_aspect = 1.5, c.voxel_slice_aspect = 0.8;
  EXPECT_NEAR(definition::ramp_scale(make_geometry(c)), pi / 10 * 1.3 / (0.5 * 0.75 * 0.4 * 1.5), 1e-14);
  c.source_detector_dist = std::numeric_limits<double>::infinity();  // magnification 1
  EXPECT_NEAR(definition::ramp_scale(make_geometry(c)), pi / 10 * 1.3 / (0.5 * 0.75 * 0.4), 1e-14);
}

TEST(RampWeight, IsTheCosineOfTheRay) {
  cone_parameters p{.sinogram_shape = {1, 6, 9}, .angles = {0.0f}, .source_detector_dist = 20, .source_iso_dist = 12};
  p.delta_det_channel = 0.9, p.delta_det_row = 1.1, p.det_channel_offset = 0.3, p.det_row_offset = -0.4;
  auto const g = make_geometry(p);
  for (int m = 0; m < 6; ++m)
    for (int n = 0; n < 9; ++n) {
      double const u = (n - 4) * 0.9 - 0.3, v = (m - 2.5) * 1.1 + 0.4;
      EXPECT_NEAR(definition::ramp_weight(g, static_cast<double>(m), static_cast<double>(n)),
                  20 / std::sqrt(400 + u * u + v * v), 4e-16);
    }
  EXPECT_TRUE(definition::ramp_weighted(g));
  p.use_curved_detector = true;
  EXPECT_EQ(definition::ramp_weight(make_geometry(p), 1.0, 2.0), definition::ramp_weight(g, 1.0, 2.0));
  p.use_curved_detector = false, p.source_detector_dist = std::numeric_limits<double>::infinity();
  EXPECT_EQ(definition::ramp_weight(make_geometry(p), 1.0, 2.0), 1.0);
  EXPECT_FALSE(definition::ramp_weighted(make_geometry(p)));
  EXPECT_EQ(definition::ramp_weight(parallel_geometry{}, 1.0, 2.0), 1.0);
}

}  // namespace
