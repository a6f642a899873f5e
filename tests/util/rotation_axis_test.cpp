// The search for the axis on synthetic scans with noise and rings, and the transforms that it is made of.
#include "mbirk/util/rotation_axis.hpp"

#include <gtest/gtest.h>

#include <random>

namespace mbirk {
namespace {

/// Line integrals of ellipses (of about 1 at most) whose axis projects to `centre`.
std::vector<float> ellipses(index_t views, index_t channels, double centre, double range, double noise, double rings,
                            std::vector<float>& angles) {
  struct ellipse {
    double x, y, a, b, turn, value;
  };
  constexpr ellipse all[] = {
      {0, 0, .62, .5, .3, .5}, {.2, .1, .15, .1, 1, 1}, {-.25, -.15, .1, .2, .4, -.3}, {.1, -.3, .05, .05, 0, 1.5}};
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  std::vector<double> ring(static_cast<std::size_t>(channels), 0);
  for (auto& r : ring)
    if (random() % 10 == 0) r = rings * normal(random);
  std::vector<float> y;
  angles.clear();
  double const half = static_cast<double>(channels) / 2;
  for (index_t v = 0; v < views; ++v) {
    double const theta = range * static_cast<double>(v) / static_cast<double>(views);
    angles.push_back(static_cast<float>(theta));
    for (index_t n = 0; n < channels; ++n) {
      double const u = (static_cast<double>(n) - centre) / half;
      double sum = ring[static_cast<std::size_t>(n)] + noise * normal(random);
      for (auto const& e : all) {
        double const middle = e.x * std::cos(theta) + e.y * std::sin(theta);
        double const c = e.a * std::cos(theta - e.turn), s = e.b * std::sin(theta - e.turn);
        double const square = c * c + s * s, rest = square - (u - middle) * (u - middle);
        if (rest > 0) sum += 2 * e.value * e.a * e.b * std::sqrt(rest) / square;
      }
      y.push_back(static_cast<float>(sum));
    }
  }
  return y;
}

TEST(Fourier, AgainstTheSum) {
  using complex = std::complex<double>;
  for (index_t const n : {1, 2, 8, 15, 37}) {
    std::mt19937 random(1);
    std::vector<complex> x;
    for (index_t k = 0; k < n; ++k)
      x.emplace_back(static_cast<double>(random() % 100), static_cast<double>(random() % 100));
    auto y = x;
    fourier_plan const plan(n);
    std::vector<complex> scratch(plan.scratch());
    plan.forward(y.data(), scratch.data());
    for (index_t k = 0; k < n; ++k) {
      complex sum;
      for (index_t i = 0; i < n; ++i)
        sum += x[static_cast<std::size_t>(i)] *
               std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i * k % n) / static_cast<double>(n));
      // Errors of a transform are a small multiple of eps log2(n) times the norm, here below 1e3.
      EXPECT_LT(std::abs(y[static_cast<std::size_t>(k)] - sum), 1e-10) << n << ' ' << k;
    }
    plan.inverse(y.data(), scratch.data());
    for (std::size_t k = 0; k < x.size(); ++k) EXPECT_LT(std::abs(y[k] - x[k]), 1e-10) << n;
  }
}

TEST(RotationAxis, HalfAndFullTurnsWithNoiseAndRings) {
  for (double const range : {std::numbers::pi, 2 * std::numbers::pi})
    for (double const centre : {58.3, 63.5, 66.7}) {
      std::vector<float> angles;
      index_t const views = range > 4 ? 180 : 90;
      auto const y = ellipses(views, 128, centre, range, 0.02, 0.05, angles);
      auto const axis = find_rotation_axis(view<float const, 2>(y.data(), {views, 128}), angles);
      EXPECT_NEAR(axis.centre, centre, 0.2) << axis.method;
      EXPECT_DOUBLE_EQ(axis.offset, axis.centre - 63.5);
    }
}

TEST(RotationAxis, WhatIsTooLittle) {
  std::vector<float> angles;
  auto const y = ellipses(30, 32, 15, 2, 0, 0, angles);
  EXPECT_THROW(find_rotation_axis(view<float const, 2>(y.data(), {30, 32}), angles), parameter_error);
  EXPECT_THROW(axis_of_half_turn(view<float const, 2>(y.data(), {30, 32}), 20, 10), parameter_error);
  EXPECT_THROW(axis_of_half_turn(view<float const, 2>(y.data(), {4, 32}), 10, 20), parameter_error);
}

}  // namespace
}  // namespace mbirk
