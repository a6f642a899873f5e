// The draws of NumPy's legacy generator and the random partition.
#include "mbirk/util/partition.hpp"

#include <gtest/gtest.h>

#include <random>

#include "core/messages.hpp"
#include "util/partition_reference.hpp"
#include "util/partition_support.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::testing;
using mbirk::test::message_of;
using rows = std::vector<std::vector<std::int32_t>>;

TEST(LegacyRandom, EngineIsTheStandardOne) {
  for (std::uint32_t const seed : {0u, 1u, 42u, 12345u, 4294967295u}) {
    detail::mersenne_twister ours(seed);
    std::mt19937 standard(seed);
    for (int k = 0; k < 2000; ++k) ASSERT_EQ(ours(), standard()) << "seed " << seed << ", draw " << k;
  }
}

TEST(LegacyRandom, PermutationsOfNumPy) {
  EXPECT_EQ(numpy_random_state(0).permutation(8), (std::vector<std::int32_t>{6, 2, 1, 7, 3, 0, 5, 4}));
  EXPECT_EQ(numpy_random_state(42).permutation(8), (std::vector<std::int32_t>{1, 5, 0, 7, 2, 4, 3, 6}));
}

TEST(LegacyRandom, BelowNothingDrawsNothing) {
  numpy_random_state a(7), b(7);
  EXPECT_EQ(a.below(0), 0u);
  EXPECT_EQ(a.permutation(1), std::vector<std::int32_t>{0});
  EXPECT_EQ(a.permutation(0), std::vector<std::int32_t>{});
  EXPECT_EQ(a.below(4294967295u), b.below(4294967295u));
}

TEST(LegacyRandom, BlocksAndSingleDrawsAreOneSequence) {
  for (index_t const n : {2, 3, 4, 5, 8, 9, 255, 256, 257, 258, 513, 1025, 5000}) {
    numpy_random_state ours(3);
    reference_random reference{std::mt19937(3)};
    ASSERT_EQ(ours.permutation(n), reference.permutation(static_cast<std::size_t>(n))) << n;
    for (std::uint32_t const most : {1u, 2u, 5u, 255u, 256u, 70000u, 2147483648u})
      ASSERT_EQ(ours.below(most), reference.below(most)) << n;
  }
}

TEST(Partition, ReferenceValues) {
  numpy_random_state zero(0);
  zero.permutation(8);
  EXPECT_EQ(rows_of(partition(kind::random, disc(5, 5), 4, zero)),
            (rows{{6, 8, 14, 22}, {2, 16, 17, 18}, {7, 10, 12, 13}, {6, 11, 18, 22}}));
  numpy_random_state answer(42);
  answer.permutation(8);
  EXPECT_EQ(rows_of(partition(kind::random, disc(5, 5), 4, answer)),
            (rows{{2, 6, 11, 18}, {8, 10, 14, 17}, {7, 13, 16, 22}, {8, 10, 12, 16}}));
}

TEST(Partition, EqualsTheSlowOneAndLeavesTheGeneratorThere) {
  struct { index_t rows, cols; } const shapes[] = {{5, 5}, {7, 4}, {33, 31}, {64, 64}, {1, 13}};
  for (auto const& shape : shapes)
    for (auto const& m : {disc(shape.rows, shape.cols), square(shape.rows, shape.cols)}) {
      auto const pixels = m.pixels();
      auto const count = static_cast<index_t>(pixels.size());
      if (count == 0) continue;  // a grid with one row has no disc
      for (index_t const subsets :
           {index_t{1}, index_t{2}, index_t{3}, index_t{4}, index_t{10}, index_t{128}, count - 1, count, count + 5})
        for (std::uint32_t const seed : {0u, 1u, 12345u}) {
          if (subsets < 1) continue;
          SCOPED_TRACE(std::to_string(shape.rows) + " x " + std::to_string(shape.cols) + ", " +
                       std::to_string(subsets) + " subsets");
          numpy_random_state a(seed), b(seed);
          reference_random reference{std::mt19937(seed)};
          auto const expected = reference_partition(pixels, static_cast<std::size_t>(subsets), reference);
          auto const from_mask = partition(kind::random, m, subsets, a),
                     from_list = gen_pixel_partition(pixels, subsets, b);
          ASSERT_EQ(rows_of(from_mask), expected);
          ASSERT_EQ(rows_of(from_list), expected);
          auto const next = reference.below(1000000);
          EXPECT_EQ(a.below(1000000), next);
          EXPECT_EQ(b.below(1000000), next);
        }
    }
}

TEST(Partition, AnyAscendingListIsPartitioned) {
  std::vector<std::int32_t> const pixels{3, 3, 9, 40, 41, 77, 90};  // one of them twice
  numpy_random_state random(5);
  reference_random reference{std::mt19937(5)};
  EXPECT_EQ(rows_of(gen_pixel_partition(pixels, 3, random)), reference_partition(pixels, 3, reference));
}

TEST(Partition, MoreSubsetsThanPixelsWarns) {
  auto const p = partition(kind::random, disc(5, 5), 20);
  EXPECT_EQ(p.subsets, 13);
  EXPECT_EQ(p.length, 1);
  ASSERT_EQ(p.warnings.size(), 1u);
  EXPECT_EQ(p.warnings[0], "gen_pixel_partition: 20 subsets of 13 pixels were asked for, made 13");
  EXPECT_TRUE(partition(kind::random, disc(5, 5), 13).warnings.empty());
}

TEST(Partition, BadInput) {
  numpy_random_state random(1);
  auto const m = disc(5, 5);
  EXPECT_EQ(message_of<parameter_error>([&] { gen_pixel_partition(m.pixels(), 0, random); }),
            "gen_pixel_partition: num_subsets is 0, expected 1 to 2147483647");
  EXPECT_EQ(message_of<parameter_error>([&] { gen_pixel_partition(std::vector<std::int32_t>{}, 2, random); }),
            "gen_pixel_partition: no pixel is inside the mask, expected at least one");
  EXPECT_EQ(message_of<parameter_error>([&] { gen_pixel_partition(std::vector<std::int32_t>{4, 7, 6}, 2, random); }),
            "gen_pixel_partition: pixel 2 of the list is 6, expected at least its predecessor 7");
  EXPECT_EQ(numpy_random_state(1).below(1000000), random.below(1000000)) << "nothing was drawn";
}

}  // namespace
