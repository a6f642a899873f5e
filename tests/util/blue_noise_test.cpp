// The blue-noise table: a permutation, its first entries, and its blue-noise property.
#include "mbirk/util/blue_noise.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using namespace mbirk;

TEST(BlueNoise, IsAPermutation) {
  std::vector<int> seen(65536);
  for (index_t i = 0; i < 256; ++i)
    for (index_t j = 0; j < 256; ++j) {
      int const rank = blue_noise(i, j);
      ASSERT_GE(rank, 0);
      ASSERT_LT(rank, 65536);
      ++seen[static_cast<std::size_t>(rank)];
    }
  for (int const n : seen) ASSERT_EQ(n, 1);
}

TEST(BlueNoise, BeginsAsTheReference) {
  static_assert(blue_noise(0, 0) == 21981 && blue_noise(0, 1) == 25828 && blue_noise(0, 2) == 34561 &&
                blue_noise(0, 3) == 10333);
  // FNV-1a over the entries as 16-bit little-endian words, row after row; computed from the array of MBIRJAX by another
  // program.
  std::uint32_t hash = 2166136261u;
  for (index_t i = 0; i < 256; ++i)
    for (index_t j = 0; j < 256; ++j)
      for (int const shift : {0, 8})
        hash = (hash ^ (static_cast<std::uint32_t>(blue_noise(i, j)) >> shift & 255u)) * 16777619u;
  EXPECT_EQ(hash, 2468389529u);
}

TEST(BlueNoise, TextHasNoTrigraphOrEscape) { EXPECT_EQ(std::strpbrk(detail::blue_noise_text, "?\\\""), nullptr); }

/// The lowest 1024 ranks lie apart: in white noise about 1024 * 8 * 1024 / 65536 = 128 of them would touch another one;
/// in blue noise none does.
TEST(BlueNoise, NearRanksLieFarApart) {
  int touching = 0;
  for (index_t i = 0; i < 256; ++i)
    for (index_t j = 0; j < 256; ++j) {
      if (blue_noise(i, j) >= 1024) continue;
      for (index_t di = -1; di <= 1; ++di)
        for (index_t dj = -1; dj <= 1; ++dj)
          touching += (di != 0 || dj != 0) && blue_noise((i + di) & 255, (j + dj) & 255) < 1024;
    }
  EXPECT_EQ(touching, 0);
}

}  // namespace
