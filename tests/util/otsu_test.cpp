// Otsu's thresholds: reference values, every split tried, ties, bad input.
#include "mbirk/util/otsu.hpp"

#include <algorithm>

#include "core/messages.hpp"
#include "filter/support.hpp"
#include "instrument/same_counts.hpp"
#include "mbirk/instrument/counting.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

view<float const, 3> line(std::vector<float> const& x) { return {x.data(), {1, 1, static_cast<index_t>(x.size())}}; }
std::vector<float> thresholds(std::vector<float> const& x, int classes, int bins = 1024, int threads = 1) {
  return multi_threshold_otsu(on_host(threads), line(x), classes, bins);
}

/// Whole numbers, made of k * k * 37 + k * 11 mod 997.
std::vector<float> numbers(float (*make)(std::int64_t k, std::int64_t residue)) {
  std::vector<float> x;
  for (std::int64_t k = 0; k < 5000; ++k) x.push_back(make(k, (k * k * 37 + k * 11) % 997));
  return x;
}
auto const residues = numbers([](std::int64_t, std::int64_t r) { return static_cast<float>(r); });
auto const clusters =
    numbers([](std::int64_t k, std::int64_t r) { return static_cast<float>((k % 3) * (k % 3) * 1000 + r % 100); });
auto const negative = numbers([](std::int64_t, std::int64_t r) { return static_cast<float>(-(r * r)); });

// These formulas in NumPy 1.24 (histogram, cumsum, argmin), equal to the last bit.
TEST(Otsu, ReferenceValues) {
  for (int const threads : {1, 3}) {
    EXPECT_EQ(thresholds(residues, 2, 1024, threads), (std::vector<float>{497.02734375f}));
    EXPECT_EQ(thresholds(residues, 3, 1024, threads), (std::vector<float>{341.40234375f, 682.8046875f}));
    EXPECT_EQ(thresholds(residues, 4, 256, threads), (std::vector<float>{233.4375f, 494.109375f, 750.890625f}));
    EXPECT_EQ(thresholds(clusters, 2, 1024, threads), (std::vector<float>{1100.8056640625f}));
    EXPECT_EQ(thresholds(clusters, 3, 1024, threads), (std::vector<float>{100.0732421875f, 1100.8056640625f}));
    EXPECT_EQ(thresholds(clusters, 4, 256, threads),
              (std::vector<float>{112.08203125f, 1040.76171875f, 1104.80859375f}));
    EXPECT_EQ(thresholds(negative, 2, 1024, threads), (std::vector<float>{-418506.75f}));
    EXPECT_EQ(thresholds(negative, 3, 1024, threads), (std::vector<float>{-596759.625f, -239285.109375f}));
    EXPECT_EQ(thresholds(negative, 4, 256, threads), (std::vector<float>{-709136.4375f, -441757.125f, -182127.9375f}));
  }
}

/// Sum over classes of the squared deviations of bin numbers from their mean.
double spread_of(std::vector<index_t> const& counts, std::vector<int> const& boundaries) {
  double total = 0;
  for (std::size_t c = 0; c <= boundaries.size(); ++c) {
    auto const from = static_cast<std::size_t>(c == 0 ? 0 : boundaries[c - 1]);
    auto const to = c == boundaries.size() ? counts.size() : static_cast<std::size_t>(boundaries[c]);
    double n = 0, mean = 0;
    for (auto b = from; b < to; ++b)
      n += static_cast<double>(counts[b]), mean += static_cast<double>(counts[b]) * static_cast<double>(b);
    if (n == 0) continue;
    mean /= n;
    for (auto b = from; b < to; ++b)
      total += static_cast<double>(counts[b]) * (static_cast<double>(b) - mean) * (static_cast<double>(b) - mean);
  }
  return total;
}
/// f(boundaries) for every ascending choice of `left` boundaries in (from, bins).
template <class F> void every_split(int bins, int left, int from, std::vector<int>& chosen, F const& f) {
  if (left == 0) return f(chosen);
  for (int b = from + 1; b < bins; ++b) {
    chosen.push_back(b);
    every_split(bins, left - 1, b, chosen, f);
    chosen.pop_back();
  }
}

TEST(Otsu, NoSplitIsBetter) {
  std::mt19937 engine(11);
  for (int const bins : {4, 5, 9, 14})
    for (int const classes : {2, 3, 4})
      for (int repeat = 0; repeat < 5; ++repeat) {
        std::vector<index_t> counts;
        for (int b = 0; b < bins; ++b) counts.push_back(engine() % 3 == 0 ? 0 : static_cast<index_t>(engine() % 50));
        auto const found = detail::otsu_boundaries(counts, classes);
        ASSERT_EQ(found.size(), static_cast<std::size_t>(classes - 1));
        EXPECT_TRUE(std::is_sorted(found.begin(), found.end(), std::less_equal<>())) << "strictly ascending";
        double best = INFINITY, all = spread_of(counts, {});
        std::vector<int> chosen;
        every_split(bins, classes - 1, 0, chosen,
                    [&](auto const& split) { best = std::min(best, spread_of(counts, split)); });
        EXPECT_LE(spread_of(counts, found), best + 1e-12 * all);  // some tens of roundings of 2^-53
      }
}

// Costs are exact zeros wherever the boundary lies between two values, so the lowest edge wins.
TEST(Otsu, TiesGoToTheLowestEdge) {
  EXPECT_EQ(thresholds({0, 1}, 2), (std::vector<float>{1.0f / 1024}));
  EXPECT_EQ(thresholds({0, 1, 1, 0, 0}, 2, 8), (std::vector<float>{1.0f / 8}));
}

TEST(Otsu, OfAConstantAndOfNothing) {
  EXPECT_EQ(thresholds({2.5f, 2.5f, 2.5f}, 2, 4), (std::vector<float>{2.25f}));
  EXPECT_EQ(thresholds({}, 3, 4), (std::vector<float>{0.25f, 0.5f}));
}

TEST(Otsu, AxesAndGapsDoNotMatter) {
  array<3> a({10, 20, 25});
  std::copy(residues.begin(), residues.end(), a.data.begin());
  spread with_gaps(a);
  EXPECT_EQ(multi_threshold_otsu(on_host(), with_gaps.all(), 3), thresholds(residues, 3));
  EXPECT_EQ(multi_threshold_otsu(on_host(2), a.all(), 3), thresholds(residues, 3));
}

TEST(Otsu, CountsEqualTheModel) {
  instrument::ledger counted, modelled;
  EXPECT_EQ(multi_threshold_otsu(context{exec::host{}, instrument::counting<>{counted}}, line(clusters), 3),
            thresholds(clusters, 3));
  EXPECT_EQ(multi_threshold_otsu(context{exec::host{}, instrument::cost_model<>{modelled}},
                                 view<float const, 3>(nullptr, {1, 1, 5000}), 3)
                .size(),
            2u);
  expect_same_counts(counted.last(), modelled.last());
  EXPECT_EQ(counted.last().name, "multi_threshold_otsu");
  EXPECT_EQ(counted.last().arrays.at(0).counts.bytes_loaded, 2u * 4 * 5000) << "two passes";
}

TEST(Otsu, RefusesBadInput) {
  expect_error<parameter_error>([] { thresholds(residues, 1); },
                                {"multi_threshold_otsu", "classes is 1", "at least 2"});
  expect_error<parameter_error>([] { thresholds(residues, 5, 4); }, {"bins is 4", "5"});
  expect_error<parameter_error>([] { thresholds(residues, 2, 1 << 21); }, {"bins is 2097152", "1048576"});
  for (float const bad : {NAN, INFINITY, -INFINITY}) {
    auto x = residues;
    x[4321] = bad;
    expect_error<parameter_error>([&] { thresholds(x, 2); }, {"multi_threshold_otsu", "image(0, 0, 4321)", "finite"});
  }
  expect_error<shape_error>(
      [] {
        multi_threshold_otsu(on_host(), view<float const, 3>(residues.data(), {2, 3, 4}, {24, 8, 2}), 2);
      },
      {"image", "stride 2"});
}

}  // namespace
