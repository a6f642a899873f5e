// Comparison of variants with the first one: interleaved runs, paired ratios, an interval, a verdict.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/profile/statistics.hpp"
#include "mbirk/profile/timing.hpp"

namespace mbirk::profile {

enum class verdict { faster, slower, not_distinguishable };

constexpr char const* verdict_name(verdict v) noexcept {
  switch (v) {
    case verdict::faster: return "faster";
    case verdict::slower: return "slower";
    default: return "not distinguishable";
  }
}

struct variant_result {
  std::string name;
  summary seconds;
  double ratio = 1;         ///< median over the rounds of (time / time of the first variant)
  interval ratio_range{1, 1, 1};
  verdict against_first = verdict::not_distinguishable;
};

struct comparison {
  std::vector<variant_result> variants;  ///< the first one is the reference

  /// One line per variant: "fused: 12.3 us, 0.81 times the first [0.79, 0.84], faster".
  std::string text() const {
    std::string text;
    for (std::size_t v = 0; v < variants.size(); ++v) {
      auto const& r = variants[v];
      text += r.name + ": " + detail::time_text(r.seconds.p50);
      if (v > 0)
        text +=
            detail::formatted(", %.4g times the first [%.4g, %.4g], ", r.ratio, r.ratio_range.low, r.ratio_range.high) +
            verdict_name(r.against_first);
      text += '\n';
    }
    return text;
  }
};

/// Compares seconds[variant][round]. Ratios are taken within a round, so gradual slowdown of the machine affects them
/// little. The interval is median_interval of the ratios, at 95 % for each variant separately: with many variants some
/// verdict is wrong by chance. A variant is faster or slower when its interval lies on one side of 1; with fewer than
/// six rounds there is no verdict.
/// @throws parameter_error when there is no variant or no round, or a time is not positive.
inline comparison compare_times(std::span<std::string const> names, std::span<std::vector<double> const> seconds) {
  require(!names.empty() && names.size() == seconds.size(), [&] {
    return "compare: " + std::to_string(names.size()) + " names for the times of " + std::to_string(seconds.size()) +
           " variants";
  });
  comparison result;
  for (std::size_t v = 0; v < names.size(); ++v) {
    require(!seconds[v].empty() && seconds[v].size() == seconds[0].size(), [&] {
      return "compare: '" + names[v] + "' has " + std::to_string(seconds[v].size()) + " rounds, the first " +
             std::to_string(seconds[0].size());
    });
    std::vector<double> ratios;
    for (std::size_t r = 0; r < seconds[v].size(); ++r) {
      require(seconds[v][r] > 0, [&] {
        return "compare: round " + std::to_string(r) + " of '" + names[v] + "' took no time; repeat the work within it";
      });
      ratios.push_back(seconds[v][r] / seconds[0][r]);
    }
    auto const range = median_interval(ratios);
    auto const said = v == 0          ? verdict::not_distinguishable
                      : range.high < 1 ? verdict::faster
                      : range.low > 1  ? verdict::slower
                                       : verdict::not_distinguishable;
    result.variants.push_back({names[v], summarise(seconds[v]), median(ratios), range, said});
  }
  return result;
}

struct variant {
  std::string name;
  std::function<void()> run;
};

struct compare_options {
  int warm_up = 1;           ///< rounds that are not timed
  int rounds = 30;
  std::uint32_t seed = 1;    ///< seed for the order within each round
  std::function<void()> prepare = {};  ///< called before each run, not timed
};

/// Runs all variants once per round, in a random order drawn anew for each round, so that no variant always follows the
/// same other one.
/// @throws parameter_error for invalid options, and whatever the variants throw.
inline comparison compare_variants(std::vector<variant> const& variants, compare_options const& options = {}) {
  require(options.warm_up >= 0 && options.rounds > 0, [&] {
    return "compare_variants: warm_up = " + std::to_string(options.warm_up) +
           ", rounds = " + std::to_string(options.rounds) + "; expected 0 or more, 1 or more";
  });
  std::vector<std::vector<double>> seconds(variants.size());
  std::vector<std::string> names;
  std::vector<std::size_t> order;
  for (auto const& v : variants) {
    order.push_back(names.size());
    names.push_back(v.name);
  }
  std::minstd_rand random(options.seed);
  for (int round = -options.warm_up; round < options.rounds; ++round) {
    for (std::size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[random() % left]);
    for (auto const v : order) {
      if (options.prepare) options.prepare();
      double const time = seconds_of(variants[v].run);
      if (round >= 0) seconds[v].push_back(time);
    }
  }
  return compare_times(names, seconds);
}

}  // namespace mbirk::profile
