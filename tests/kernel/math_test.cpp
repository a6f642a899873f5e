// exp, exp2 and log2 of packs against the standard library in double, over their whole domains and at their ends.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "mbirk/simd/pack.hpp"

namespace {

using namespace mbirk;

template <class B> struct Math : ::testing::Test {
  template <class F> static std::vector<float> map(std::vector<float> x, F const& f) {
    auto const n = x.size();
    x.resize((n + B::lanes - 1) / B::lanes * B::lanes, 1.0f);
    for (std::size_t k = 0; k < x.size(); k += B::lanes) B::store(x.data() + k, f(B::load(x.data() + k)));
    x.resize(n);
    return x;
  }
  static std::vector<float> range(double from, double to, int n) {
    std::vector<float> x;
    for (int k = 0; k <= n; ++k) x.push_back(static_cast<float>(from + (to - from) * k / n));
    return x;
  }
};
using backends = ::testing::Types<simd::native<4>, simd::native<8>, simd::native<16>>;
TYPED_TEST_SUITE(Math, backends);

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
// Two units in the last place: polynomial 5e-9, its last additions and the scaling one rounding each; without fused
// multiply-add a third.
constexpr double two_units = 2.5 * 0x1p-23;

TYPED_TEST(Math, ExpToTwoUnits) {
  auto const x = this->range(-87, 88.7, 100000);
  auto const y = this->map(x, [](auto a) { return exp(a); });
  for (std::size_t k = 0; k < x.size(); ++k)
    EXPECT_NEAR(y[k] / std::exp(static_cast<double>(x[k])), 1, two_units) << x[k];
}
TYPED_TEST(Math, Exp2ToTwoUnits) {
  auto const x = this->range(-125.9, 127.9, 100000);
  auto const y = this->map(x, [](auto a) { return exp2(a); });
  for (std::size_t k = 0; k < x.size(); ++k)
    EXPECT_NEAR(y[k] / std::exp2(static_cast<double>(x[k])), 1, two_units) << x[k];
}
TYPED_TEST(Math, Log2ToTwoUnits) {
  std::vector<float> x;
  for (double t = -125.9; t < 127.9; t += 0.0031) x.push_back(static_cast<float>(std::exp2(t)));
  for (int k = -2000; k <= 2000; ++k) x.push_back(static_cast<float>(1 + k * 0x1p-20));  // where the result crosses 0
  auto const y = this->map(x, [](auto a) { return log2(a); });
  for (std::size_t k = 0; k < x.size(); ++k) {
    double const exact = std::log2(static_cast<double>(x[k]));
    EXPECT_NEAR(y[k], exact, two_units * std::abs(exact) + 1e-30) << x[k];
  }
}
TYPED_TEST(Math, Ends) {
  auto const e = this->map({0.0f, -0.0f, -200.0f, -inf, 100.0f, inf, nan}, [](auto a) { return exp(a); });
  EXPECT_EQ(e[0], 1.0f);
  EXPECT_EQ(e[1], 1.0f);
  EXPECT_EQ(e[2], 0.0f);
  EXPECT_EQ(e[3], 0.0f);
  EXPECT_EQ(e[4], inf);
  EXPECT_EQ(e[5], inf);
  EXPECT_TRUE(std::isnan(e[6]));
  auto const p = this->map({0.0f, 3.0f, -7.0f, -inf, inf, -149.0f, nan}, [](auto a) { return exp2(a); });
  EXPECT_EQ(p[0], 1.0f);
  EXPECT_EQ(p[1], 8.0f);
  EXPECT_EQ(p[2], 0x1p-7f);
  EXPECT_EQ(p[3], 0.0f);
  EXPECT_EQ(p[4], inf);
  EXPECT_NEAR(p[5] / 0x1p-149f, 1, 1) << "subnormal or flushed to 0";
  EXPECT_TRUE(std::isnan(p[6]));
  auto const l = this->map({1.0f, 2.0f, 0.25f, 0x1p-126f}, [](auto a) { return log2(a); });
  EXPECT_EQ(l[0], 0.0f);
  EXPECT_EQ(l[1], 1.0f);
  EXPECT_EQ(l[2], -2.0f);
  EXPECT_EQ(l[3], -126.0f);
}
TYPED_TEST(Math, MasksAndMagnitudes) {
  auto const a = this->map({-2.5f, 0.0f, -0.0f, inf, -inf}, [](auto x) { return abs(x); });
  EXPECT_EQ(a[0], 2.5f);
  EXPECT_FALSE(std::signbit(a[2]));
  EXPECT_EQ(a[4], inf);
  auto const n = this->map({1.0f, nan, inf, -3.0f}, [](auto x) {
    return select(is_nan(x) | (x < TypeParam::constant(0)), TypeParam::constant(7), x);
  });
  EXPECT_EQ(n[0], 1.0f);
  EXPECT_EQ(n[1], 7.0f);
  EXPECT_EQ(n[2], inf);
  EXPECT_EQ(n[3], 7.0f);
}
TYPED_TEST(Math, SumsInDouble) {
  using B = TypeParam;
  std::vector<float> x;
  std::vector<double> s(B::lanes);
  for (int k = 0; k < B::lanes; ++k) x.push_back(1.0f + static_cast<float>(k) * 0x1p-20f);
  auto const pack = B::load(x.data());
  double total = 0, exact = 0;
  B::store_sums(s.data(), fma(B::widen(pack), B::widen(pack), B::no_sum()));
  B::store_total(&total, B::load_sums(s.data()));
  for (auto const v : x) exact += static_cast<double>(v) * v;
  EXPECT_NEAR(total, exact, 1e-13);
  std::vector<float> back(B::lanes);
  B::store(back.data(), B::narrow(B::widen(pack)));
  EXPECT_EQ(back, x);
  float largest = 0;
  B::each_lane(pack, pack, 3, [&](float v, float) { largest = std::max(largest, v); });
  EXPECT_EQ(largest, x[2]);
}

}  // namespace
