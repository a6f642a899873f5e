// Which cells a warp of a cone-beam kernel stages: enough for the intervals of all its destinations, and no more than
// its tile of shared memory holds.
#include "mbirk/kernel/device/staged_resample.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace {

using namespace mbirk;
using kernel::resample_form;

TEST(StagedCells, HoldEveryIntervalOfAWarp) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> steps(1.0 / 1024, 2), starts(-300, 300);
  double const special_steps[] = {2, 2 - 0x1p-31, 1 + 0x1p-31, 1, 1.0 / 1024};
  for (int n = 0; n < 3000; ++n) {
    double const step = n % 10 < 5 ? special_steps[n % 10] : steps(random),
                 start = n % 3 == 0 ? std::floor(starts(random)) + 1 - 0x1p-32 : starts(random);
    int const packs = 1 + n / 10 % 8;
    auto const line = kernel::make_line(start, step, 1);
    ASSERT_NE(line.form, resample_form::general);
    int const staged = kernel::staged_packs(line, packs), taps = line.form == resample_form::two_tap ? 2 : 3;
    // A step is rounded to whole 2^-31 cells, so that the last interval may begin in the cell behind.
    double const last = std::floor(start + step * (packs * warp_lanes - 1) + 0x1p-31 * packs * warp_lanes) + taps - 1;
    EXPECT_LE(last, std::floor(start) + staged * warp_lanes - 1) << start << ' ' << step << ' ' << packs;
    EXPECT_LE(staged, 2 * packs + 1) << step;
    EXPECT_GT(staged, packs);
  }
}
TEST(StagedCells, ExistIfTheSourceHasAllOfThem) {
  auto const exist = [](double start, double step, int packs, int cells) {
    return kernel::all_cells_exist(kernel::make_line(start, step, 1), packs, cells);
  };
  EXPECT_TRUE(exist(0, 1, 1, 64));
  EXPECT_FALSE(exist(0, 1, 1, 63));
  EXPECT_FALSE(exist(-0.25, 1, 1, 64));
  EXPECT_TRUE(exist(35.5, 0.5, 2, 35 + 96));
  EXPECT_FALSE(exist(35.5, 0.5, 2, 34 + 96));
  EXPECT_TRUE(exist(7, 1.75, 2, 7 + 128));  // 112 cells and one more
  EXPECT_FALSE(exist(7, 1.75, 2, 6 + 128));
  EXPECT_FALSE(exist(1e12, 1, 8, 2048));  // far outside, where positions are cut off
  EXPECT_FALSE(exist(-1e12, 1, 8, 2048));
  EXPECT_FALSE(exist(0, 1, 1, 0));
  EXPECT_FALSE(exist(10, 2.5, 1, 2048));  // wide steps stage nothing
  EXPECT_EQ(kernel::staged_packs(kernel::make_line(10, 2.5, 1), 3), 0);
}

}  // namespace
