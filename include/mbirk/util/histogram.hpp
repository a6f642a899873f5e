// Range, histogram and median values of an array, the basis of thresholds and automatic parameters. Not for users.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/launch.hpp"
#include "mbirk/kernel/device/block_counts.hpp"
#include "mbirk/kernel/shared/histogram.hpp"

namespace mbirk::detail {

/// Message text for the first element with the property, "sinogram(3, 0, 2) is nan", for an array known to have one.
template <class Context, class Bad>
std::string first_bad(Context const& ctx, view<float const, 3> const& array, char const* name, Bad const& bad) {
  host_view const v(ctx, array);
  for (index_t i = 0; i < v.extent(0); ++i)
    for (index_t j = 0; j < v.extent(1); ++j)
      for (index_t k = 0; k < v.extent(2); ++k)
        if (bad(v(i, j, k))) return name + shape_text(std::array{i, j, k}) + " is " + number_text(v(i, j, k));
  return std::string(name) + " is bad";
}

/// Minimum and maximum number of an array; (inf, -inf) if there is none. Under a policy without data: (0, 1).
struct number_range {
  float minimum = 0, maximum = 1;
  bool has_nan = false;
  bool finite() const noexcept { return !has_nan && std::isfinite(minimum) && std::isfinite(maximum); }
};

template <class Context, class In>
number_range find_range(Context const& ctx, In const& in, kernel::elementwise_range const& w) {
  using B = typename Context::backend;
  constexpr index_t packs = kernel::array_range<B>::packs;
  temporary<float, Context> partial(ctx, "ranges", w.tasks() * packs * B::lanes);
  launch(ctx, w.tasks(), kernel::array_range<B>{in, observe(ctx, partial), w});
  number_range r;
  if constexpr (B::has_data) {
    r.minimum = std::numeric_limits<float>::infinity();
    r.maximum = -r.minimum;
    host_copy const found(ctx, partial);
    for (index_t k = 0; k < found.size(); k += packs * B::lanes)
      for (index_t lane = k; lane < k + B::lanes; ++lane) {
        r.minimum = std::min(r.minimum, found[lane]);
        r.maximum = std::max(r.maximum, found[lane + B::lanes]);
        r.has_nan |= found[lane + 2 * B::lanes] != 0;
      }
  }
  return r;
}

/// Step through `extent` rows or views that selects 20 to 39 of them.
inline index_t sampling_step(index_t extent) { return std::max<index_t>(1, extent / std::min<index_t>(20, extent)); }

/// Maximum number of count tables, because one thread adds them up.
inline constexpr index_t most_tables = 32;
/// Maximum number of tasks that count: one per table on the host; a device needs thousands, which share the tables.
template <class Context> inline constexpr index_t counting_tasks = on_device<Context> ? 8192 : most_tables;

struct histogram {
  std::vector<index_t> counts;  ///< number of values with edges[b] <= x < edges[b + 1]; the last bin is closed
  std::vector<float> edges;
};

/// Bin edges float32(b (maximum - minimum)/bins + minimum), the last one exactly `maximum`. A range of zero width is
/// widened by 1/2 on either side, an empty one is replaced by (0, 1).
inline std::vector<float> equal_bins(number_range& r, int bins) {
  if (!(r.minimum <= r.maximum)) {
    r.minimum = 0;
    r.maximum = 1;
  }
  if (r.minimum == r.maximum) {
    r.minimum -= 0.5f;
    r.maximum += 0.5f;
  }
  std::vector<float> edges(static_cast<std::size_t>(bins) + 1);
  double const step = (static_cast<double>(r.maximum) - static_cast<double>(r.minimum)) / bins;
  for (int b = 0; b < bins; ++b) {
    double volatile const distance = b * step;  // volatile prevents fusing into the sum, which would round differently
    edges[static_cast<std::size_t>(b)] = static_cast<float>(distance + static_cast<double>(r.minimum));
  }
  edges.back() = r.maximum;
  return edges;
}

/// Count tables of a launch, cleared before it and summed after it.
template <class Context> class count_tables {
 public:
  count_tables(Context const& ctx, char const* name, index_t tasks, index_t each)
      : ctx_(ctx),
        tables_(on_device<Context> ? std::min(tasks, most_tables) : tasks),
        memory_(ctx, name, tables_ * each),
        each_(each) {}
  index_t tables() const noexcept { return tables_; }
  std::int32_t* clear() {
    mbirk::clear(ctx_, memory_);
    return memory_.data();
  }
  std::vector<index_t> total() const {
    std::vector<index_t> sum(static_cast<std::size_t>(each_));
    if constexpr (Context::backend::has_data) {
      host_copy const counts(ctx_, memory_);
      for (index_t k = 0; k < counts.size(); ++k) sum[static_cast<std::size_t>(k % each_)] += counts[k];
    }
    return sum;
  }

 private:
  Context const& ctx_;
  index_t tables_;
  temporary<std::int32_t, Context> memory_;
  index_t each_;
};

/// Launches a kernel that counts; on a device, in shared memory if its table fits.
template <class Context, class Counted> void launch_counts(Context const& ctx, Counted const& counted) {
  if constexpr (on_device<Context>) {
    using in_blocks = kernel::block_counts<typename Context::backend, Counted>;
    if (counted.entries() <= in_blocks::most_entries) return launch_blocks(ctx, in_blocks{counted});
  }
  launch(ctx, counted.w.tasks(), counted);
}

template <class Context, class In>
histogram find_histogram(Context const& ctx, In const& in, kernel::elementwise_range const& w, number_range r,
                         int bins) {
  using B = typename Context::backend;
  histogram h;
  h.edges = equal_bins(r, bins);
  count_tables<Context> tables(ctx, "histograms", w.tasks(), bins);
  device_table const edges(ctx, h.edges, "edges");
  launch_counts(ctx, kernel::count_bins<B>{in, r.minimum, r.maximum - r.minimum, bins, edges.data(), tables.clear(),
                                           tables.tables(), w});
  h.counts = tables.total();
  return h;
}

/// The two middle values of the elements >= limit, which are equal when the number of elements is odd. There must be at
/// least one element, and no NaN. Takes three passes for any data.
template <class Context, class In>
std::pair<float, float> find_middle(Context const& ctx, In const& in, kernel::elementwise_range const& w, float limit) {
  using B = typename Context::backend;
  count_tables<Context> tables(ctx, "digit counts", w.tasks(), kernel::count_digits<B>::table_size);
  std::uint32_t known[2] = {0, 0};
  index_t rank[2] = {0, 0};
  bool first_round = true;
  for (auto const round : kernel::radix_rounds) {
    launch_counts(ctx, kernel::count_digits<B>{in, round, {known[0], known[1]}, limit, tables.clear(),
                                               tables.tables(), w});
    auto const counts = tables.total();
    if (std::exchange(first_round, false)) {
      index_t const below = counts.back(), above = w.lines() * w.length - below;
      rank[0] = below + (above - 1) / 2;
      rank[1] = below + above / 2;
    }
    for (int search = 0; search < 2; ++search) {
      auto digit = std::uint32_t{0};
      auto const count = [&] { return counts[static_cast<std::size_t>(search * kernel::radix_digits) + digit]; };
      for (; digit + 1 < std::uint32_t{1} << round.bits && rank[search] >= count(); ++digit) rank[search] -= count();
      known[search] = (known[search] << round.bits) | digit;
    }
  }
  return {kernel::from_order_key(known[0]), kernel::from_order_key(known[1])};
}

}  // namespace mbirk::detail
