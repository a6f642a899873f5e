// Otsu's thresholds for several classes, bitwise equal to those of MBIRJAX 0.7.3 on host arrays.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/launch.hpp"
#include "mbirk/operation.hpp"
#include "mbirk/util/histogram.hpp"

namespace mbirk {
namespace detail {

/// Boundaries between classes of bins, ascending: the split into `classes` runs of bins with the smallest sum of
/// variances, taking the smallest boundary on ties. Otsu (1979), for any number of classes by dynamic programming over
/// classes: bins^2/2 costs for each class except the first and last.
inline std::vector<int> otsu_boundaries(std::vector<index_t> const& counts, int classes) {
  int const bins = static_cast<int>(counts.size());
  double const middle = (bins - 1) / 2.0;
  std::vector<double> sum0(counts.size() + 1), sum1(counts.size() + 1), sum2(counts.size() + 1);
  for (std::size_t b = 0; b < counts.size(); ++b) {
    double const c = (static_cast<double>(b) - middle) / middle, h = static_cast<double>(counts[b]);
    double volatile const first = c * h, square = c * c, second = square * h;  // volatile prevents fusing into the sums
    sum0[b + 1] = sum0[b] + h;
    sum1[b + 1] = sum1[b] + first;
    sum2[b + 1] = sum2[b] + second;
  }
  constexpr double none = std::numeric_limits<double>::infinity();
  auto const cost = [&](std::size_t s, std::size_t b) {  // cost of bins [s, b), s < b
    double const m0 = sum0[b] - sum0[s], m1 = sum1[b] - sum1[s], m2 = sum2[b] - sum2[s];
    return m0 == 0 ? 0.0 : std::max(0.0, m2 - m1 * m1 / m0);
  };
  auto const n = static_cast<std::size_t>(bins);
  std::vector<double> best(n + 1, none);
  for (std::size_t b = 1; b <= n; ++b) best[b] = cost(0, b);
  std::vector<std::vector<int>> from;  // start of the last class in the best split of [0, b)
  for (int r = 2; r <= classes; ++r) {
    std::vector<double> next(n + 1, none);
    auto& begins = from.emplace_back(n + 1, 0);
    for (std::size_t b = r < classes ? 1 : n; b <= n; ++b)
      for (std::size_t s = 0; s < b; ++s)
        if (double const c = best[s] + cost(s, b); c < next[b]) {
          next[b] = c;
          begins[b] = static_cast<int>(s);
        }
    best = std::move(next);
  }
  std::vector<int> boundaries;
  int b = bins;
  for (std::size_t level = from.size(); level-- > 0;) {
    b = from[level][static_cast<std::size_t>(b)];
    boundaries.push_back(b);
  }
  std::reverse(boundaries.begin(), boundaries.end());
  return boundaries;
}

inline void check_otsu(int classes, int bins) {
  require(classes >= 2,
          [&] { return "multi_threshold_otsu: classes is " + std::to_string(classes) + ", expected at least 2"; });
  require(bins >= classes && bins <= 1 << 20, [&] {
    return "multi_threshold_otsu: bins is " + std::to_string(bins) + ", expected from the number of classes, " +
           std::to_string(classes) + ", to 1048576";
  });
}

/// multi_threshold_otsu as a stage of an operation that has its own name for the array. Zeros under a policy without
/// data.
template <class Context>
std::vector<float> find_thresholds(Context const& ctx, view<float const, 3> image, char const* operation,
                                   char const* name, int classes, int bins) {
  [[maybe_unused]] auto const guard = ctx.instr.stage("thresholds");
  auto const in = kernel::make_strided_cursor(observe(ctx, image, name, array_role::argument), image);
  auto const w = kernel::make_elementwise_range(counting_tasks<Context>, image);
  auto const range = find_range(ctx, in, w);
  require(range.finite() || image.size() == 0, [&] {
    return std::string(operation) + ": " + first_bad(ctx, image, name, [](float x) { return !std::isfinite(x); }) +
           ", expected finite values";
  });
  auto const h = find_histogram(ctx, in, w, range, bins);
  std::vector<float> thresholds(static_cast<std::size_t>(classes) - 1);
  if constexpr (Context::backend::has_data) {
    auto const boundaries = otsu_boundaries(h.counts, classes);
    for (std::size_t k = 0; k < thresholds.size(); ++k)
      thresholds[k] = h.edges[static_cast<std::size_t>(boundaries[k])];
  }
  return thresholds;
}

}  // namespace detail

/// Thresholds t_1 < ... < t_(classes - 1) that split the values of an image into classes of minimum total variance: a
/// value above t_c belongs to class c + 1 or higher. They are edges of `bins` equal bins between the minimum and the
/// maximum value (float32, as in NumPy).
///
/// @param ctx      execution and instrumentation. The call returns when the result is complete; on a device it waits
///                 for it.
/// @param image    any three axes, any unit; read only.
/// @param classes  at least 2.
/// @param bins     at least `classes`, at most 2^20.
/// @return classes - 1 values in the unit of the image, ascending. Empty bins cause ties, resolved by the lowest edge.
/// Zeros under a policy without data.
/// @throws parameter_error when classes or bins are out of range, or a value is not finite; shape_error when the last
///         axis is not contiguous.
/// Cost: two passes over the image; (classes - 2) bins^2/2 steps on one thread. The result is bitwise independent of
/// the number of threads. Source: Otsu 1979; MBIRJAX 0.7.3.
template <execution_policy Exec, instrumentation_policy Instr>
std::vector<float> multi_threshold_otsu(context<Exec, Instr> const& ctx, view<float const, 3> image, int classes,
                                        int bins = 1024) {
  detail::check_otsu(classes, bins);
  detail::check(ctx, image, image.extents(), "multi_threshold_otsu", "image", "(any, any, any)");
  [[maybe_unused]] auto const guard = ctx.instr.scope({"multi_threshold_otsu", image.size()});
  return detail::find_thresholds(ctx, image, "multi_threshold_otsu", "image", classes, bins);
}

}  // namespace mbirk
