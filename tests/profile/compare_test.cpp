// Comparisons: ratios and verdicts by hand, and the order of runs.
#include "mbirk/profile/compare.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/messages.hpp"

namespace {

using namespace mbirk;
using profile::verdict;
using times = std::vector<double>;

TEST(CompareTimes, RatiosAreOfTheSameRound) {
  // The machine slows down by 16 meanwhile: means would be meaningless, while pairs give 0.5 and 1.
  std::vector<std::string> const names{"first", "half", "same", "double"};
  times const first{1, 2, 4, 4, 8, 16};
  std::vector<times> all{first, {}, {}, {}};
  double const jitter[] = {0.99, 1.01, 0.98, 1.02, 1.0, 1.0};
  for (std::size_t r = 0; r < first.size(); ++r)
    all[1].push_back(0.5 * jitter[r] * first[r]), all[2].push_back(jitter[r] * first[r]),
        all[3].push_back(2 * jitter[r] * first[r]);
  auto const result = profile::compare_times(names, all).variants;
  ASSERT_EQ(result.size(), 4u);
  EXPECT_EQ(result[0].ratio, 1);
  EXPECT_DOUBLE_EQ(result[0].seconds.p50, 4);
  EXPECT_DOUBLE_EQ(result[1].ratio, 0.5);
  EXPECT_DOUBLE_EQ(result[1].ratio_range.low, 0.49);  // minimum and maximum of six
  EXPECT_DOUBLE_EQ(result[1].ratio_range.high, 0.51);
  EXPECT_EQ(result[1].against_first, verdict::faster);
  EXPECT_EQ(result[2].against_first, verdict::not_distinguishable);
  EXPECT_EQ(result[3].against_first, verdict::slower);
  EXPECT_DOUBLE_EQ(result[3].ratio, 2);
}

TEST(CompareTimes, FiveRoundsSayNothing) {
  std::vector<std::string> const names{"a", "b"};
  auto const result = profile::compare_times(names, std::vector<times>{times(5, 1.0), times(5, 9.0)});
  EXPECT_EQ(result.variants[1].against_first, verdict::not_distinguishable);
  EXPECT_EQ(result.variants[1].ratio, 9);
  EXPECT_EQ(profile::compare_times(names, std::vector<times>{times(6, 1.0), times(6, 9.0)}).variants[1].against_first,
            verdict::slower);
}

TEST(CompareTimes, AsText) {
  std::vector<std::string> const names{"plain", "fused"};
  auto const result = profile::compare_times(names, std::vector<times>{times(6, 2e-3), times(6, 1e-3)});
  EXPECT_EQ(result.text(), "plain: 2 ms\nfused: 1 ms, 0.5 times the first [0.5, 0.5], faster\n");
}

TEST(CompareTimes, BadTimes) {
  std::vector<std::string> const names{"a", "b"};
  using test::expect_error;
  expect_error<parameter_error>([&] { profile::compare_times({}, {}); }, {"0 names"});
  expect_error<parameter_error>([&] { profile::compare_times(names, std::vector<times>{{1}}); },
                                {"2 names", "1 variants"});
  expect_error<parameter_error>(
      [&] {
        profile::compare_times(names, std::vector<times>{{1, 1}, {1}});
      },
      {"'b' has 1 rounds, the first 2"});
  expect_error<parameter_error>(
      [&] {
        profile::compare_times(names, std::vector<times>{{1, 1}, {1, 0}});
      },
      {"round 1 of 'b' took no time"});
}

TEST(CompareVariants, TakesTurnsInADrawnOrder) {
  std::string order;
  int prepared = 0;
  auto const run = [&](std::uint32_t seed) {
    order.clear();
    auto const result = profile::compare_variants(
        {{"a", [&] { order += 'a'; }}, {"b", [&] { order += 'b'; }}, {"c", [&] { order += 'c'; }}},
        {.warm_up = 2, .rounds = 40, .seed = seed, .prepare = [&] { ++prepared; }});
    for (auto const& v : result.variants) EXPECT_EQ(v.seconds.count, 40);
    return order;
  };
  auto const first = run(1);
  EXPECT_EQ(prepared, 3 * 42);
  ASSERT_EQ(first.size(), 3u * 42);
  std::map<std::string, int> orders;
  for (std::size_t k = 0; k < first.size(); k += 3) {
    auto round = first.substr(k, 3);
    ++orders[round];
    std::sort(round.begin(), round.end());
    EXPECT_EQ(round, "abc") << "round " << k / 3;
  }
  EXPECT_EQ(orders.size(), 6u) << "every order came";
  EXPECT_EQ(run(1), first);
  EXPECT_NE(run(2), first);
}

TEST(CompareVariants, BadArguments) {
  EXPECT_THROW(profile::compare_variants({{"a", [] {}}}, {.rounds = 0}), parameter_error);
  EXPECT_THROW(profile::compare_variants({{"a", [] {}}}, {.warm_up = -1}), parameter_error);
  EXPECT_THROW(profile::compare_variants({}), parameter_error);
}

}  // namespace
