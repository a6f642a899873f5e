// Phantoms against a plain evaluation of their definition, voxel by voxel in double.
#include "mbirk/util/phantom.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

namespace {

using namespace mbirk;
using shape = std::array<index_t, 3>;

std::vector<float> drawn(shape const& s, std::function<void(view<float, 3>)> const& draw) {
  std::vector<float> x(static_cast<std::size_t>(s[0] * s[1] * s[2]), NAN);  // unwritten elements show as NaN
  draw(view<float, 3>(x.data(), s));
  return x;
}

double at(index_t k, index_t n) {
  return n == 1 ? -1.0 : -1.0 + 2.0 * static_cast<double>(k) / static_cast<double>(n - 1);
}

struct sum_of_ellipsoids {
  double value = 0;
  bool close = false;  ///< the voxel lies on a surface to rounding, so it may be on either side

  void add(double x, double y, double z, double x0, double y0, double z0, double a, double b, double c, double degrees,
           double intensity) {
    double const t = degrees / 180 * std::numbers::pi, dx = x - x0, dy = y - y0, dz = z - z0;
    double const u = std::cos(t) * dx + std::sin(t) * dy, v = -std::sin(t) * dx + std::cos(t) * dy;
    double const level = u * u / (a * a) + v * v / (b * b) + dz * dz / (c * c);
    if (level <= 1) value += intensity;
    close = close || std::abs(level - 1) < 1e-12;
  }
};

sum_of_ellipsoids low_dynamic_range(double x, double y, double z) {
  sum_of_ellipsoids s;
  s.add(x, y, z, 0, 0, 0, 0.69, 0.92, 0.9, 0, 1);
  s.add(x, y, z, 0, 0.0184, 0, 0.6624, 0.874, 0.88, 0, -0.8);
  s.add(x, y, z, 0.22, 0, 0, 0.41, 0.16, 0.21, 108, -0.2);
  s.add(x, y, z, -0.22, 0, 0, 0.31, 0.11, 0.22, 72, -0.2);
  s.add(x, y, z, 0, 0.35, 0, 0.21, 0.25, 0.5, 0, 0.1);
  for (double const y0 : {0.1, -0.1}) s.add(x, y, z, 0, y0, 0, 0.046, 0.046, 0.046, 0, 0.1);
  s.add(x, y, z, -0.08, -0.605, 0, 0.046, 0.023, 0.02, 0, 0.1);
  s.add(x, y, z, 0, -0.605, 0, 0.023, 0.023, 0.02, 0, 0.1);
  return s;
}
sum_of_ellipsoids kak_slaney(double x, double y, double z) {
  sum_of_ellipsoids s;
  s.add(x, y, z, 0, 0, 0, 0.69, 0.92, 0.9, 0, 2);
  s.add(x, y, z, 0, 0, 0, 0.6624, 0.874, 0.88, 0, -0.98);
  s.add(x, y, z, -0.22, 0, -0.25, 0.41, 0.16, 0.21, 108, -0.02);
  s.add(x, y, z, 0.22, 0, -0.25, 0.31, 0.11, 0.22, 72, -0.02);
  s.add(x, y, z, 0, 0.35, -0.25, 0.21, 0.25, 0.5, 0, 0.02);
  s.add(x, y, z, 0, 0.1, -0.25, 0.046, 0.046, 0.046, 0, 0.02);
  for (double const x0 : {-0.08, 0.06}) s.add(x, y, z, x0, -0.65, -0.25, 0.046, 0.023, 0.02, x0 < 0 ? 0 : 90, 0.01);
  s.add(x, y, z, 0.06, -0.105, 0.625, 0.056, 0.04, 0.1, 90, 0.02);
  s.add(x, y, z, 0, 0.1, 0.625, 0.056, 0.056, 0.1, 0, -0.02);
  return s;
}

/// `scale` times the oracle. Its sum of up to ten doubles near 1 is off by 1e-15 and one rounding to float adds 2^-24
/// of the value.
template <class Oracle> void compare(std::vector<float> const& x, shape const& s, double scale, Oracle const& oracle) {
  index_t compared = 0, close = 0;
  for (index_t i = 0; i < s[0]; ++i)
    for (index_t j = 0; j < s[1]; ++j)
      for (index_t k = 0; k < s[2]; ++k) {
        auto const expected = oracle(i, j, k);
        if (expected.close) { ++close; continue; }
        ++compared;
        double const value = scale * expected.value;
        ASSERT_NEAR(x[static_cast<std::size_t>((i * s[1] + j) * s[2] + k)], value,
                    std::abs(value) * std::ldexp(1, -24) + scale * 1e-14)
            << i << ' ' << j << ' ' << k;
      }
  EXPECT_LE(close, compared / 100);
}

shape const recon_shapes[] = {{33, 29, 31}, {64, 48, 40}, {5, 6, 7}, {1, 9, 4}, {12, 1, 1}};

TEST(SheppLogan, LowDynamicRangeEqualsItsDefinition) {
  for (auto const& s : recon_shapes) {
    auto const oracle = [&](index_t i, index_t j, index_t k) {
      return low_dynamic_range(at(i, s[0]), at(j, s[1]), at(k, s[2]));
    };
    compare(drawn(s, [](auto v) { generate_3d_shepp_logan_low_dynamic_range(v); }), s, 1, oracle);
    double const rows = static_cast<double>(s[0]), cols = static_cast<double>(s[1]), slices = static_cast<double>(s[2]);
    double const scale = 4.0 / (0.28 * std::max({0.69 * rows, 0.92 * cols, 0.9 * slices}));
    compare(drawn(s, [](auto v) { generate_3d_shepp_logan_low_dynamic_range(v, 4.0); }), s, scale, oracle);
  }
}

TEST(SheppLogan, ReferenceEqualsItsDefinition) {
  for (auto const& s : recon_shapes)
    compare(drawn(s, [](auto v) { generate_3d_shepp_logan_reference(v); }), s, 1, [&](index_t i, index_t j, index_t k) {
      return kak_slaney(at(j, s[1]), s[0] == 1 ? 1.0 : -at(i, s[0]), at(k, s[2]));
    });
}

TEST(SheppLogan, EveryEllipsoidIsThere) {
  // Levels of the low dynamic range phantom: outside, shell, inside, one tenth more or less; 0.1 more again where an
  // ellipse overlaps.
  auto const x = drawn({128, 128, 65}, [](auto v) { generate_3d_shepp_logan_low_dynamic_range(v); });
  for (float const level : {0.0f, 0.1f, 0.2f, 0.3f, 1.0f})
    EXPECT_NE(std::find(x.begin(), x.end(), level), x.end()) << level;
  for (float const v : x) EXPECT_TRUE(v >= 0 && v <= 1);
}

TEST(SheppLogan, WritesThroughStrides) {
  std::vector<float> dense(4 * 5 * 6), gaps(4 * 7 * 9, -7.0f);
  generate_3d_shepp_logan_low_dynamic_range(view<float, 3>(dense.data(), {4, 5, 6}));
  view<float, 3> const inside(gaps.data(), {4, 5, 6}, {63, 9, 1});
  generate_3d_shepp_logan_low_dynamic_range(inside);
  int untouched = 0;
  for (float const v : gaps) untouched += v == -7.0f;
  EXPECT_EQ(untouched, 4 * 7 * 9 - 4 * 5 * 6);
  for (index_t i = 0; i < 4; ++i)
    for (index_t j = 0; j < 5; ++j)
      for (index_t k = 0; k < 6; ++k) EXPECT_EQ(inside(i, j, k), dense[static_cast<std::size_t>((i * 5 + j) * 6 + k)]);
}

TEST(SheppLogan, BadTargetIsAnError) {
  std::vector<float> x(8);
  EXPECT_THROW(generate_3d_shepp_logan_low_dynamic_range(view<float, 3>(x.data(), {2, 2, 2}), NAN), parameter_error);
  EXPECT_THROW(generate_3d_shepp_logan_low_dynamic_range(view<float, 3>(x.data(), {2, 2, 2}), INFINITY),
               parameter_error);
}

TEST(Phantoms, EmptyGridsAreLeftAlone) {
  for (auto const& s : {shape{0, 3, 4}, shape{3, 0, 4}, shape{3, 4, 0}})
    for (auto const& draw :
         {std::function<void(view<float, 3>)>([](auto v) { generate_3d_shepp_logan_low_dynamic_range(v, 3.0); }),
          std::function<void(view<float, 3>)>([](auto v) { generate_3d_shepp_logan_reference(v); }),
          std::function<void(view<float, 3>)>([](auto v) { gen_cube_phantom(v); }),
          std::function<void(view<float, 3>)>([](auto v) { nested_ellipsoids(v); })})
      EXPECT_NO_THROW(draw(view<float, 3>(nullptr, s)));
}

TEST(Cube, IsABoxThatMovesWithTheSlices) {
  for (auto const& s : {shape{17, 22, 9}, shape{8, 8, 8}, shape{40, 13, 1}, shape{4, 5, 3}}) {
    std::vector<float> expected(static_cast<std::size_t>(s[0] * s[1] * s[2]));
    auto const h = s[0] / 4, w = s[1] / 4;
    for (index_t k = 0; k < s[2]; ++k) {
      auto const shift = static_cast<index_t>(static_cast<double>(k * w) / static_cast<double>(s[2]));
      for (index_t i = (s[0] - h) / 2; i < (s[0] + h) / 2; ++i)
        for (index_t j = (s[1] - w) / 2 + shift; j < (s[1] + w) / 2 + shift; ++j)
          expected.at(static_cast<std::size_t>((i * s[1] + j) * s[2] + k)) =
              static_cast<float>(1.0 / static_cast<double>(std::max(h, w)));
    }
    EXPECT_EQ(drawn(s, [](auto v) { gen_cube_phantom(v); }), expected);
  }
}

TEST(Cube, OfAFewPixelsIsEmpty) {
  for (auto const& s : {shape{3, 3, 2}, shape{3, 9, 2}, shape{9, 3, 2}})
    for (float const v : drawn(s, [](auto r) { gen_cube_phantom(r); })) EXPECT_EQ(v, 0);
}

TEST(NestedEllipsoids, HasThreeLevelsAndTheVolumesOfItsEllipsoids) {
  auto const x = drawn({41, 50, 61}, [](auto v) { nested_ellipsoids(v); });
  double outer = 0, inner = 0;
  for (float const v : x) {
    EXPECT_TRUE(v == 0.0f || v == 0.01f || v == 0.03f);
    outer += v != 0, inner += v == 0.03f;
  }
  // A smooth body of radius r contains its volume in grid points, up to a few r, so the ratio is off by a few r^-2; r =
  // 16 and 8 across the rows.
  double const unit = 4.0 / 3 * std::numbers::pi * 41 * 50 * 61;
  EXPECT_NEAR(outer / (unit * 0.4 * 0.4 * 0.4), 1, 3 / std::pow(0.4 * 41, 2));
  EXPECT_NEAR(inner / (unit * 0.2 * 0.2 * 0.2), 1, 3 / std::pow(0.2 * 41, 2));
}

}  // namespace
