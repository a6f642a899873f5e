// Shapes whose products overflow are refused, whatever else they contain.
#include "mbirk/io/array_size.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

namespace {

using namespace mbirk;
using shape = std::vector<index_t>;

TEST(ArraySize, IsTheProduct) {
  EXPECT_EQ(array_elements(shape{}, 4), 1);
  EXPECT_EQ(array_elements(shape{3, 5, 7}, 4), 105);
  EXPECT_EQ(array_elements(shape{3, 0, 7}, 4), 0);
  EXPECT_EQ(array_elements(std::array<std::uint64_t, 2>{1u << 31, 1u << 26}, 4), index_t{1} << 57);
  EXPECT_EQ(array_elements(shape{max_array_bytes}, 1), max_array_bytes);
}

TEST(ArraySize, IsBounded) {
  EXPECT_FALSE(array_elements(shape{3, -1}, 4));
  EXPECT_FALSE(array_elements(shape{max_array_bytes}, 2));
  EXPECT_FALSE(array_elements(shape{3, 6148914691236517206}, 1)) << "2^64 + 2 elements";
  EXPECT_FALSE(array_elements(shape{index_t{1} << 32, index_t{1} << 32}, 1)) << "2^64 elements";
  EXPECT_FALSE(array_elements(shape{0, index_t{1} << 32, index_t{1} << 32}, 1)) << "blocks of it would overflow";
  EXPECT_FALSE(array_elements(std::array<std::uint64_t, 1>{~std::uint64_t{}}, 1));
  EXPECT_TRUE(array_elements(shape(64, 1), 1));
  EXPECT_FALSE(array_elements(shape(65, 1), 1));
}

}  // namespace
