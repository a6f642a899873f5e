#include "mbirk/core/index.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace {

using mbirk::ceil_div;
using mbirk::index_t;
using mbirk::round_up;

static_assert(sizeof(index_t) == 8, "2^31 voxels are ordinary");
static_assert(ceil_div(7, 4) == 2 && round_up(7, 4) == 8, "usable where a constant is needed");

TEST(Index, CeilDivIsTheSmallestCountThatCovers) {
  for (index_t a = 0; a <= 40; ++a)
    for (index_t b = 1; b <= 20; ++b) {
      auto const n = ceil_div(a, b);
      EXPECT_GE(n * b, a) << a << " / " << b;
      EXPECT_LT((n - 1) * b, a) << a << " / " << b;
    }
}

TEST(Index, RoundUpIsTheNextMultiple) {
  for (index_t a = 0; a <= 40; ++a)
    for (index_t b = 1; b <= 20; ++b) {
      auto const n = round_up(a, b);
      EXPECT_EQ(n % b, 0) << a << ", " << b;
      EXPECT_TRUE(n >= a && n < a + b) << a << ", " << b << " -> " << n;
    }
}

TEST(Index, BeyondThirtyTwoBits) {
  index_t const big = index_t{1} << 40;
  EXPECT_EQ(ceil_div(big + 1, 16), (index_t{1} << 36) + 1);
  EXPECT_EQ(round_up(big + 1, 64), big + 64);
}

}  // namespace
