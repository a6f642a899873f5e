// The cylindrical mask, in numbers that are exact: centres are multiples of one half, so squares need no rounding.
#include "mbirk/util/cylinder.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace {

using namespace mbirk;

std::vector<float> masked(std::array<index_t, 3> const& s, double radial, index_t top, index_t bottom,
                          float value = 2.5f) {
  std::vector<float> x(static_cast<std::size_t>(s[0] * s[1] * s[2]), value);
  apply_cylindrical_mask(view<float, 3>(x.data(), s), radial, top, bottom);
  return x;
}

TEST(Cylinder, EqualsItsDefinition) {
  struct { index_t rows, cols, slices; } const shapes[] = {{9, 9, 5}, {8, 11, 4}, {12, 5, 7}, {1, 1, 3}};
  for (auto const& s : shapes)
    for (index_t const radial : {-2, 0, 1, 3})
      for (index_t const top : {0, 1, 2})
        for (index_t const bottom : {0, 1, 3}) {
          auto const x = masked({s.rows, s.cols, s.slices}, static_cast<double>(radial), top, bottom);
          index_t const diameter = std::max(s.rows, s.cols) - 1 - 2 * radial;  // everything doubled stays whole
          for (index_t i = 0; i < s.rows; ++i)
            for (index_t j = 0; j < s.cols; ++j)
              for (index_t k = 0; k < s.slices; ++k) {
                index_t const down = 2 * i - (s.rows - 1), across = 2 * j - (s.cols - 1);
                bool const kept = diameter >= 0 && down * down + across * across <= diameter * diameter && k >= top &&
                                  k < s.slices - bottom;
                EXPECT_EQ(x[static_cast<std::size_t>((i * s.cols + j) * s.slices + k)], kept ? 2.5f : 0.0f);
              }
        }
}

TEST(Cylinder, NothingRemainsOfMarginsThatAreTooLarge) {
  for (auto const& x : {masked({5, 5, 3}, 2.5, 0, 0), masked({5, 5, 3}, 0, 2, 1), masked({5, 5, 3}, 0, 3, 0),
                        masked({5, 5, 3}, 0, 99, 99)})
    for (float const v : x) EXPECT_EQ(v, 0.0f);
}

TEST(Cylinder, WhatGoesBecomesZeroEvenIfItWasNotFinite) {
  auto const x = masked({5, 5, 1}, 0, 0, 0, NAN);
  EXPECT_EQ(x[0], 0.0f);
  EXPECT_TRUE(std::isnan(x[12]));
}

TEST(Cylinder, EmptyVolumesAndBadInput) {
  EXPECT_NO_THROW(apply_cylindrical_mask(view<float, 3>(nullptr, {0, 3, 2}), 1, 1, 1));
  EXPECT_NO_THROW(apply_cylindrical_mask(view<float, 3>(nullptr, {3, 3, 0}), 1, 1, 1));
  EXPECT_THROW(masked({3, 3, 3}, NAN, 0, 0), parameter_error);
  EXPECT_THROW(masked({3, 3, 3}, 0, -1, 0), parameter_error);
  EXPECT_THROW(masked({3, 3, 3}, 0, 0, -1), parameter_error);
}

}  // namespace
