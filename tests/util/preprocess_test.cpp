// Counts to line integrals: the formula, the rule for dead pixels, and their repair against a version that copies whole
// views.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>

#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/util/preprocess.hpp"

namespace mbirk {
namespace {

context const ctx{exec::host{}, instrument::none{}};
float const nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();

struct scan_data {
  index_t views, rows, channels;
  std::vector<float> counts, white, dark;

  view<float const, 3> c() const { return {counts.data(), {views, rows, channels}}; }
  view<float const, 2> w() const { return {white.data(), {rows, channels}}; }
  view<float const, 2> d() const { return {dark.data(), {rows, channels}}; }
};

/// Counts between the fields; this share of pixels is spoilt in each of the ways that make a pixel dead.
scan_data random_scan(index_t views, index_t rows, index_t channels, double spoilt) {
  scan_data s{views, rows, channels, {}, {}, {}};
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(0, 1);
  auto const bad = [&] { return static_cast<double>(uniform(random)) < spoilt; };
  for (index_t i = 0; i < rows * channels; ++i) {
    s.dark.push_back(bad() ? nan : 90 + 20 * uniform(random));
    s.white.push_back(bad() ? s.dark.back() : bad() ? inf : 20000 + 10000 * uniform(random));
  }
  for (index_t v = 0; v < views; ++v)
    for (std::size_t i = 0; i < s.dark.size(); ++i)
      s.counts.push_back(bad() ? nan : bad() ? inf : bad() ? s.dark[i] : bad() ? 0 : 120 + 25000 * uniform(random));
  return s;
}

/// The definition, in double, with views that are copied in each pass.
std::vector<double> oracle(scan_data const& s, repair_count& count) {
  std::vector<double> all;
  for (index_t v = 0; v < s.views; ++v) {
    std::vector<std::optional<double>> y;
    for (index_t m = 0; m < s.rows; ++m)
      for (index_t n = 0; n < s.channels; ++n) {
        double const c = s.c()(v, m, n), w = s.w()(m, n), d = s.d()(m, n);
        bool const good = std::isfinite(c) && std::isfinite(w) && std::isfinite(d) && c > d && w > d;
        y.push_back(good ? std::optional(-std::log(std::abs(c - d) / std::abs(w - d))) : std::nullopt);
      }
    for (int pass = 0; pass < 3; ++pass) {
      auto const old = y;
      for (index_t m = 0; m < s.rows; ++m)
        for (index_t n = 0; n < s.channels; ++n) {
          auto& here = y[static_cast<std::size_t>(m * s.channels + n)];
          if (here) continue;
          double sum = 0;
          int good = 0;
          for (index_t a = std::max<index_t>(m - 1, 0); a <= std::min(m + 1, s.rows - 1); ++a)
            for (index_t b = std::max<index_t>(n - 1, 0); b <= std::min(n + 1, s.channels - 1); ++b)
              if (auto const& x = old[static_cast<std::size_t>(a * s.channels + b)]) sum += *x, ++good;
          if (good > 0) here = sum / good, ++count.repaired;
        }
    }
    for (auto const& x : y) count.lost += !x, all.push_back(x.value_or(0));
  }
  return all;
}

std::vector<float> run(scan_data const& s, repair_count& count, int threads = 0) {
  std::vector<float> y(s.counts.size(), nan);
  count = counts_to_line_integrals(context{exec::host{threads}, instrument::none{}}, s.c(), s.w(), s.d(),
                                   view<float, 3>(y.data(), {s.views, s.rows, s.channels}));
  return y;
}

TEST(Preprocess, AgreesWithTheDefinition) {
  for (auto const spoilt : {0.0, 0.02, 0.2, 0.5})
    for (auto const& [views, rows, channels] :
         {std::array<index_t, 3>{3, 9, 13}, {2, 1, 17}, {2, 17, 1}, {5, 2, 2}, {4, 1, 1}}) {
      auto const s = random_scan(views, rows, channels, spoilt);
      repair_count expected_count, count;
      auto const expected = oracle(s, expected_count);
      auto const y = run(s, count);
      EXPECT_EQ(count.repaired, expected_count.repaired);
      EXPECT_EQ(count.lost, expected_count.lost);
      // Good pixels are rounded once. A repaired one is the mean of rounded values, three times at most: a rounding
      // each, of values up to `largest`.
      double largest = 0;
      for (auto const x : expected) largest = std::max(largest, std::abs(x));
      for (std::size_t i = 0; i < y.size(); ++i)
        ASSERT_NEAR(static_cast<double>(y[i]), expected[i], 4 * largest * std::numeric_limits<float>::epsilon())
            << i << ' ' << spoilt;
    }
}

TEST(Preprocess, ThreePassesReachThreePixels) {
  // One good pixel at the left end of a row: passes reach channels 1, 2, 3; the rest is lost.
  scan_data s{1, 1, 7, std::vector<float>(7, nan), std::vector<float>(7, 10), std::vector<float>(7, 0)};
  s.counts[0] = 5;
  repair_count count;
  auto const y = run(s, count);
  float const y0 = std::log(2.0f);
  for (std::size_t n = 0; n < 4; ++n) EXPECT_FLOAT_EQ(y[n], y0) << n;
  for (std::size_t n = 4; n < 7; ++n) EXPECT_EQ(y[n], 0) << n;
  EXPECT_EQ(count.repaired, 3);
  EXPECT_EQ(count.lost, 3);
}

TEST(Preprocess, AViewIsRepairedFromItselfOnly) {
  scan_data s{3, 2, 2, std::vector<float>(12, 5), std::vector<float>(4, 10), std::vector<float>(4, 1)};
  for (std::size_t i = 4; i < 8; ++i) s.counts[i] = 1;  // view 1: all dead
  repair_count count;
  auto const y = run(s, count);
  EXPECT_EQ(count.repaired, 0);
  EXPECT_EQ(count.lost, 4);
  for (std::size_t i = 4; i < 8; ++i) EXPECT_EQ(y[i], 0);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(y[i], std::log(9.0f / 4.0f));
}

TEST(Preprocess, SameBitsInBlocksInPlaceAndForAnyNumberOfThreads) {
  auto const s = random_scan(7, 11, 19, 0.1);
  repair_count count, again;
  auto const whole = run(s, count, 1);
  EXPECT_EQ(run(s, again, 4), whole);
  EXPECT_EQ(again.repaired, count.repaired);

  auto in_place = s.counts;
  view<float, 3> const y(in_place.data(), {7, 11, 19});
  repair_count sum;
  for (auto const& [first, n] : {std::array<index_t, 2>{0, 3}, {3, 3}, {6, 1}}) {
    view<float, 3> const block(&y(first, 0, 0), {n, 11, 19});
    sum += counts_to_line_integrals(ctx, block, s.w(), s.d(), block);
  }
  EXPECT_EQ(in_place, whole);
  EXPECT_EQ(sum.repaired, count.repaired);
  EXPECT_EQ(sum.lost, count.lost);
}

TEST(Preprocess, ArraysWithGaps) {
  auto const s = random_scan(3, 5, 6, 0.1);
  repair_count count;
  auto const dense = run(s, count);
  std::vector<float> wide(3 * 5 * 8, -7), out(3 * 6 * 6, -7);
  view<float, 3> const c(wide.data(), {3, 5, 6}, {40, 8, 1}), y(out.data(), {3, 5, 6}, {36, 6, 1});
  for (index_t v = 0; v < 3; ++v)
    for (index_t m = 0; m < 5; ++m)
      for (index_t n = 0; n < 6; ++n) c(v, m, n) = s.c()(v, m, n);
  counts_to_line_integrals(ctx, c, s.w(), s.d(), y);
  for (index_t v = 0; v < 3; ++v) {
    for (index_t m = 0; m < 5; ++m)
      for (index_t n = 0; n < 6; ++n) EXPECT_EQ(y(v, m, n), dense[static_cast<std::size_t>((v * 5 + m) * 6 + n)]);
    for (index_t n = 0; n < 6; ++n) EXPECT_EQ(out[static_cast<std::size_t>(v * 36 + 30 + n)], -7);
  }
}

TEST(Preprocess, EmptyScans) {
  for (auto const& [views, rows, channels] : {std::array<index_t, 3>{0, 3, 4}, {2, 0, 4}, {2, 3, 0}}) {
    repair_count count;
    EXPECT_TRUE(run(random_scan(views, rows, channels, 0), count).empty());
    EXPECT_EQ(count.repaired + count.lost, 0);
  }
}

TEST(Preprocess, WrongShapes) {
  auto const s = random_scan(2, 3, 4, 0);
  std::vector<float> out(24);
  view<float, 3> const y(out.data(), {2, 3, 4});
  EXPECT_THROW(counts_to_line_integrals(ctx, s.c(), view<float const, 2>(s.white.data(), {4, 3}), s.d(), y),
               shape_error);
  EXPECT_THROW(counts_to_line_integrals(ctx, s.c(), s.w(), view<float const, 2>(s.dark.data(), {3, 3}), y),
               shape_error);
  EXPECT_THROW(counts_to_line_integrals(ctx, s.c(), s.w(), s.d(), view<float, 3>(out.data(), {2, 4, 3})), shape_error);
  EXPECT_THROW(counts_to_line_integrals(ctx, s.c(), s.w(), view<float const, 2>(nullptr, {3, 4}), y), shape_error);
  try {
    counts_to_line_integrals(ctx, s.c(), view<float const, 2>(s.white.data(), {4, 3}), s.d(), y);
  } catch (shape_error const& e) {
    EXPECT_STREQ(e.what(), "counts_to_line_integrals: white has shape (4, 3), expected (rows, channels) = (3, 4)");
  }
}

TEST(FrameMean, IsTheMeanInDouble) {
  // 2^24 + 1 is not a float: adding ones in float would stop at 2^24.
  std::vector<float> const large{16777216, 2}, ones{1, 4};
  frame_mean mean(1, 2);
  mean.add(view<float const, 3>(large.data(), {1, 1, 2}));
  for (int i = 0; i < 3; ++i) mean.add(view<float const, 3>(ones.data(), {1, 1, 2}));
  EXPECT_EQ(mean.values(), (std::vector<float>{static_cast<float>((16777216.0 + 3) / 4), 3.5f}));
  frame_mean together(1, 2);
  std::vector<float> const four{16777216, 2, 1, 4, 1, 4, 1, 4};
  together.add(view<float const, 3>(four.data(), {4, 1, 2}));
  EXPECT_EQ(together.values(), mean.values());
}

TEST(FrameMean, BadInput) {
  frame_mean mean(2, 3);
  std::vector<float> const a(12);
  EXPECT_THROW(mean.values(), parameter_error);
  EXPECT_THROW(mean.add(view<float const, 3>(a.data(), {2, 3, 2})), shape_error);
  EXPECT_NO_THROW(mean.add(view<float const, 3>(nullptr, {0, 2, 3})));
  EXPECT_THROW(mean.values(), parameter_error);
}

}  // namespace
}  // namespace mbirk
