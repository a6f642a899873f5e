#include "mbirk/core/finite.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

template <class T> void expect_what_the_standard_says() {
  using limits = std::numeric_limits<T>;
  for (T const x :
       {T(0), -T(0), T(1), limits::denorm_min(), -limits::min(), limits::max(), limits::lowest(), limits::epsilon()})
    EXPECT_TRUE(mbirk::detail::is_finite(x)) << x;
  for (T const x :
       {limits::infinity(), -limits::infinity(), limits::quiet_NaN(), -limits::quiet_NaN(), limits::signaling_NaN()})
    EXPECT_FALSE(mbirk::detail::is_finite(x)) << x;
}

TEST(IsFinite, AllKindsOfNumbers) {
  expect_what_the_standard_says<float>();
  expect_what_the_standard_says<double>();
}

static_assert(mbirk::detail::is_finite(1.0f) && !mbirk::detail::is_finite(std::numeric_limits<double>::infinity()),
              "usable where a constant is needed");

}  // namespace
