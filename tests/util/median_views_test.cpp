// The median filter of views against medians of sorted windows.
#include "mbirk/util/median_views.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"

namespace mbirk {
namespace {

using shape = std::array<index_t, 3>;

std::vector<float> filtered(std::vector<float> values, shape const& s, index_t size, int threads = 2) {
  context const ctx{exec::host{threads}, instrument::none{}};
  median_filter_views(ctx, view<float, 3>(values.data(), s), size);
  return values;
}

std::vector<float> sorted_medians(std::vector<float> const& values, shape const& s, index_t size) {
  view<float const, 3> const y(values.data(), s);
  auto const mirror = [](index_t k, index_t extent) {
    while (k < 0 || k >= extent) k = k < 0 ? -1 - k : 2 * extent - 1 - k;
    return k;
  };
  std::vector<float> medians, window;
  for (index_t v = 0; v < s[0]; ++v)
    for (index_t m = 0; m < s[1]; ++m)
      for (index_t n = 0; n < s[2]; ++n) {
        window.clear();
        for (index_t r = m - size / 2; r <= m + size / 2; ++r)
          for (index_t c = n - size / 2; c <= n + size / 2; ++c)
            window.push_back(y(v, mirror(r, s[1]), mirror(c, s[2])));
        std::sort(window.begin(), window.end());
        medians.push_back(window[window.size() / 2]);
      }
  return medians;
}

std::vector<float> random_values(shape const& s, float scale) {
  std::mt19937 random(7);
  std::normal_distribution<float> value(0, scale);
  std::vector<float> values(static_cast<std::size_t>(s[0] * s[1] * s[2]));
  for (float& x : values) x = value(random);
  return values;
}

TEST(MedianViews, AreMediansOfSortedWindows) {
  for (auto const& s : {shape{3, 9, 14}, shape{1, 1, 20}, shape{2, 17, 1}, shape{2, 3, 4}})
    for (index_t const size : {3, 5, 9, 21}) {
      auto const values = random_values(s, 1);
      EXPECT_EQ(filtered(values, s, size), sorted_medians(values, s, size)) << s[1] << ' ' << s[2] << ' ' << size;
    }
}
TEST(MedianViews, WithEqualAndExtremeValues) {
  shape const s{2, 8, 9};
  auto values = random_values(s, 1);
  for (float& x : values) x = std::round(x);  // many are equal
  EXPECT_EQ(filtered(values, s, 5), sorted_medians(values, s, 5));
  values.assign(values.size(), 0.25f);
  EXPECT_EQ(filtered(values, s, 7), values);
  values = random_values(s, 1e-3f);
  values[3] = 3e38f;  // all others are on one level
  values[70] = -3e38f;
  EXPECT_EQ(filtered(values, s, 3), sorted_medians(values, s, 3));
}
TEST(MedianViews, DoNotDependOnThreadsAndBlocks) {
  shape const s{13, 21, 18};
  auto const values = random_values(s, 2);
  EXPECT_EQ(filtered(values, s, 5, 1), filtered(values, s, 5, 4));
  EXPECT_EQ(filtered(values, s, 1), values);
  EXPECT_EQ(filtered({}, {0, 4, 5}, 3), std::vector<float>{});
}
TEST(MedianViews, RefuseOtherSizes) {
  for (index_t const size : {-1, 0, 2, 64, 65})
    EXPECT_THROW(filtered({1, 2, 3}, {1, 1, 3}, size), parameter_error) << size;
}

}  // namespace
}  // namespace mbirk
