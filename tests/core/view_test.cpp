#include "mbirk/core/view.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace {

using mbirk::index_t;
using mbirk::view;

static_assert(std::is_trivially_copyable_v<view<float, 3>>, "a kernel gets it by value");
static_assert(std::is_convertible_v<view<float, 2>, view<float const, 2>>);
static_assert(!std::is_convertible_v<view<float const, 2>, view<float, 2>>, "const does not go away");
static_assert(!std::is_convertible_v<view<double, 2>, view<float const, 2>>, "nor does the type change");
static_assert(!std::is_convertible_v<view<float, 3>, view<float const, 2>>, "nor the rank");
static_assert(std::is_same_v<decltype(view<float const, 1>{}(0)), float const&>);
static_assert(std::is_same_v<decltype(view(static_cast<int*>(nullptr), std::array<index_t, 2>{})), view<int, 2>>);

std::vector<int> numbers(int n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 0);
  return v;
}

TEST(View, DenseStridesAreCOrder) {
  auto data = numbers(2 * 3 * 5);
  view<int, 3> const v(data.data(), {2, 3, 5});
  EXPECT_EQ(v.strides(), (std::array<index_t, 3>{15, 5, 1}));
  EXPECT_EQ(v.extents(), (std::array<index_t, 3>{2, 3, 5}));
  EXPECT_EQ(v.extent(1), 3);
  EXPECT_EQ(v.stride(1), 5);
  EXPECT_EQ(v.size(), 30);
  EXPECT_EQ(v.span(), 30);
  int expected = 0;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 5; ++k) EXPECT_EQ(v(i, j, k), expected++);
}

TEST(View, StridesSkipPaddingAndSpanCountsIt) {
  auto data = numbers(100);
  view<int, 2> const v(data.data(), {3, 4}, {10, 2});
  EXPECT_EQ(v(2, 3), 26);
  EXPECT_EQ(v.size(), 12);
  EXPECT_EQ(v.span(), 2 * 10 + 3 * 2 + 1) << "one past the last element that an index reaches";
}

TEST(View, IndicesOfAnyIntegerType) {
  auto data = numbers(12);
  view<int, 2> const v(data.data(), {3, 4});
  EXPECT_EQ(v(std::int8_t{2}, std::size_t{1}), 9);
  EXPECT_EQ(v(2u, 1ll), 9);
}

TEST(View, WritesReachTheOwner) {
  auto data = numbers(6);
  view<int, 2> const v(data.data(), {2, 3});  // a const view of mutable elements
  v(1, 2) = -7;
  EXPECT_EQ(data[5], -7);
}

TEST(View, ConstConversionKeepsDataExtentsAndStrides) {
  auto data = numbers(40);
  view<int, 2> const v(data.data(), {3, 4}, {12, 1});
  view<int const, 2> const c = v;
  EXPECT_EQ(c.data(), v.data());
  EXPECT_EQ(c.extents(), v.extents());
  EXPECT_EQ(c.strides(), v.strides());
  EXPECT_EQ(c(2, 3), 27);
}

TEST(View, EmptyInAnyAxisSpansNothing) {
  view<int, 3> const none;
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(none.size(), 0);
  EXPECT_EQ(none.span(), 0);
  for (int d = 0; d < 3; ++d) {
    std::array<index_t, 3> extents{2, 3, 4};
    extents[static_cast<std::size_t>(d)] = 0;
    view<int, 3> const v(nullptr, extents);
    EXPECT_EQ(v.size(), 0) << d;
    EXPECT_EQ(v.span(), 0) << d;
  }
}

TEST(View, SizesBeyondThirtyTwoBits) {
  view<float, 3> const v(nullptr, {2048, 2048, 2048});
  EXPECT_EQ(v.size(), index_t{1} << 33);
  EXPECT_EQ(v.stride(0), index_t{1} << 22);
  EXPECT_EQ(v.span(), index_t{1} << 33);
}

}  // namespace
