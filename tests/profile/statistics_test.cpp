// Statistics against numbers worked out by hand.
#include "mbirk/profile/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace {

using namespace mbirk;
using numbers = std::vector<double>;

TEST(RunningStats, MomentsByHand) {
  profile::running_stats s;
  EXPECT_EQ(s.standard_deviation(), 0);
  for (double const x : {2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0}) s.add(x);
  EXPECT_EQ(s.count(), 8);
  EXPECT_EQ(s.total(), 40);
  EXPECT_DOUBLE_EQ(s.mean(), 5);
  EXPECT_DOUBLE_EQ(s.standard_deviation(), std::sqrt(32.0 / 7));  // squares of the distances from 5: 9 1 1 1 0 0 4 16
  EXPECT_EQ(s.min(), 2);
  EXPECT_EQ(s.max(), 9);
}

TEST(RunningStats, AFarMeanCostsNoDigits) {
  profile::running_stats s;  // sums of squares would cancel: 1e18 has a spacing of 128
  for (double const x : {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}) s.add(x);
  EXPECT_DOUBLE_EQ(s.standard_deviation(), std::sqrt(30.0));
}

TEST(Percentile, IsLinearBetweenNeighbours) {
  numbers const x{40, 15, 20, 50, 35};
  EXPECT_EQ(profile::percentile(x, 0), 15);
  EXPECT_EQ(profile::percentile(x, 100), 50);
  EXPECT_EQ(profile::percentile(x, 50), 35);
  EXPECT_DOUBLE_EQ(profile::percentile(x, 40), 29);  // 1.6 steps from the first: 20 + 0.6 * 15
  EXPECT_EQ(profile::percentile(numbers{3}, 99), 3);
  EXPECT_DOUBLE_EQ(profile::median(numbers{4, 1, 3, 2}), 2.5);
  EXPECT_THROW(profile::percentile(numbers{}, 50), parameter_error);
  EXPECT_THROW(profile::percentile(x, 101), parameter_error);
  EXPECT_THROW(profile::percentile(x, std::nan("")), parameter_error);
}

numbers first_integers(int n) {
  numbers x;
  for (int k = n; k > 0; --k) x.push_back(k);
  return x;
}

TEST(MedianInterval, IsTheTabulatedPairOfOrderStatistics) {
  // 1 - 2 P(Binomial(n, 1/2) < r): n = 6, r = 1: 1 - 2 / 64; n = 10, r = 2: 1 - 2 * 11 / 1024; n = 15, r = 4: 1 - 2 *
  // 576 / 32768
  struct row { int n; double low, high, coverage; };
  for (auto const& row : {row{6, 1, 6, 0.96875}, row{10, 2, 9, 0.978515625}, row{15, 4, 12, 0.96484375}}) {
    auto const found = profile::median_interval(first_integers(row.n));
    EXPECT_EQ(found.low, row.low) << row.n;
    EXPECT_EQ(found.high, row.high) << row.n;
    EXPECT_NEAR(found.coverage, row.coverage, 1e-12) << row.n;
  }
  EXPECT_EQ(profile::median_interval(first_integers(10), 0.99).low, 1)
      << "1 - 2 / 1024, for 1 - 22 / 1024 is not enough";
  EXPECT_THROW(profile::median_interval(numbers{1, 2}, 1), parameter_error);
}

TEST(MedianInterval, FewNumbersSayNothing) {
  for (int const n : {0, 1, 5}) {
    auto const found = profile::median_interval(first_integers(n));  // n = 5: 1 - 2 / 32 is less than 0.95
    EXPECT_TRUE(std::isinf(found.low) && std::isinf(found.high)) << n;
    EXPECT_EQ(found.coverage, 1);
  }
}

TEST(MedianInterval, ManyNumbersDoNotUnderflow) {
  auto const found = profile::median_interval(first_integers(4000));  // 2^-4000 is no double
  // The normal approximation: 2000.5 -+ 1.95996 * sqrt(4000) / 2, and a step for rounding.
  EXPECT_NEAR(found.low, 2000.5 - 61.98, 1);
  EXPECT_NEAR(found.high, 2000.5 + 61.98, 1);
  EXPECT_GE(found.coverage, 0.95);
  EXPECT_LT(found.coverage, 0.954)
      << "one step of r takes off two densities at 1.96 deviations: 2 * 0.0126 * 0.1466 = 0.0037";
}

TEST(GrowthExponent, IsTheSlopeOfTheLogarithms) {
  using points = std::vector<std::pair<double, double>>;
  EXPECT_NEAR(profile::growth_exponent(points{{32, 3e3}, {64, 24e3}, {128, 192e3}}).value(), 3, 1e-12);
  EXPECT_NEAR(profile::growth_exponent(points{{2, 1}, {4, 2}, {8, 16}}).value(), 2, 1e-12) << "slopes 1 and 3";
  EXPECT_FALSE(profile::growth_exponent(points{{32, 1}, {64, 0}})) << "one of them has a logarithm";
  EXPECT_FALSE(profile::growth_exponent(points{{32, 1}, {32, 2}}));
}

TEST(Summary, IsOfAllOfThem) {
  auto const s = profile::summarise(first_integers(101));
  EXPECT_EQ(s.count, 101);
  EXPECT_DOUBLE_EQ(s.mean, 51);
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.p50, 51);
  EXPECT_EQ(s.p90, 91);
  EXPECT_EQ(s.p99, 100);
  EXPECT_EQ(s.max, 101);
  EXPECT_LT(s.median.low, 51);
  EXPECT_THROW(profile::summarise(numbers{}), parameter_error);
}

}  // namespace
