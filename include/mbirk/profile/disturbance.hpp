// Whether other programs disturbed a timed call, judged by the operating system's evidence, and the times of the calls
// that were not disturbed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/profile/statistics.hpp"
#include "mbirk/profile/timing.hpp"

namespace mbirk::profile {

/// Values that the operating system reports for a period, in seconds. Empty: it does not report them.
struct evidence {
  double wall = 0;
  double processor = 0;  ///< time that the threads of the process ran, added up
  /// Time for which a thread was ready to run but had no processor: that of the thread with the longest excess over its
  /// waking time.
  std::optional<double> waited{};
  std::int64_t waits = 0;             ///< how often that thread got a processor
  std::optional<double> stolen{};     ///< time that the hypervisor gave to others, of the processor that lost most
  std::int64_t involuntary = 0;       ///< switches to other threads before its own work was done
  std::int64_t limited_loops = 0;     ///< loops that had fewer threads, because other programs had delayed one
  std::optional<double> frequency{};  ///< Hz, at the end
};

struct disturbance_rules {
  double share = 0.05;    ///< share of the wall time that may be lost
  double waking = 50e-6;  ///< how long a waking thread waits for an idle processor even on a quiet machine
  double slice = 4e-3;    ///< assumed loss of an involuntary switch where waiting is not reported: a scheduler's tick
};

/// unknown: the system does not report waiting, so the spread of the times decides.
enum class condition { clean, disturbed, unknown };
constexpr char const* condition_name(condition c) noexcept {
  switch (c) {
    case condition::clean: return "clean";
    case condition::disturbed: return "disturbed";
    default: return "unknown";
  }
}

/// Seconds of the stretch in which work could not run. One late thread makes an operation late, so this is the loss of
/// a single thread, not a sum: waited - waits * waking, or involuntary * slice where waiting is not reported; plus the
/// stolen time.
inline double lost_seconds(evidence const& e, disturbance_rules const& r = {}) noexcept {
  double const waited = e.waited ? std::max(0.0, *e.waited - static_cast<double>(e.waits) * r.waking)
                                 : static_cast<double>(e.involuntary) * r.slice;
  return waited + e.stolen.value_or(0);
}

inline condition judge(evidence const& e, disturbance_rules const& r = {}) noexcept {
  if (e.limited_loops > 0 || lost_seconds(e, r) > r.share * e.wall) return condition::disturbed;
  return e.waited ? condition::clean : condition::unknown;
}

/// Calls that follow each other, with the evidence of all of them: reading it around single calls of microseconds would
/// disturb them.
struct batch {
  std::vector<double> seconds;
  evidence seen;
};

/// Calls needed for a statement about an operation: nine below 5 ms, above that as many as fit into 45 ms (>= 1).
constexpr std::size_t min_calls(double seconds) noexcept {
  return seconds <= 5e-3 ? 9 : seconds >= 45e-3 ? 1 : static_cast<std::size_t>(45e-3 / seconds);
}

/// Times of one call, derived from the batches of an operation.
struct measured_time {
  double median = 0, min = 0, max = 0;      ///< of the clean calls; of all calls if the operation was disturbed
  double low_quartile = 0, high_quartile = 0;
  std::optional<interval> range{};  ///< 95 % interval of the median, from 6 calls on
  std::size_t calls = 0;            ///< number of calls behind these values
  std::size_t clean = 0, all = 0;
  std::string disturbed{};  ///< reason; empty: the times can be trusted
};

namespace detail {

inline std::string loss_text(std::span<batch const> batches, disturbance_rules const& r) {
  double lost = 0, wall = 0, stolen = 0;
  bool waiting_known = false, limited = false;
  for (auto const& b : batches) {
    lost += lost_seconds(b.seen, r);
    wall += b.seen.wall;
    stolen += b.seen.stolen.value_or(0);
    waiting_known = waiting_known || b.seen.waited.has_value();
    limited = limited || b.seen.limited_loops > 0;
  }
  if (limited && lost <= r.share * wall) return "loops had fewer threads after one had waited for a processor";
  auto const cause = 2 * stolen > lost ? "the hypervisor ran others"
                     : waiting_known   ? "threads waited for a processor"
                                       : "other threads took the processor";
  return std::string(cause) + " for " + formatted("%.0f %%", wall > 0 ? 100 * lost / wall : 0) + " of the time";
}

}  // namespace detail

/// Summarises clean calls. The operation was disturbed if fewer than min_calls() are clean. Where evidence is missing
/// the spread decides: the operation was disturbed if the interval of its median is wider than a quarter of the median.
/// @throws parameter_error when there is no call.
inline measured_time measured_time_of(std::span<batch const> batches, disturbance_rules const& rules = {}) {
  std::vector<double> all, clean;
  bool unknown = false;
  for (auto const& b : batches) {
    all.insert(all.end(), b.seconds.begin(), b.seconds.end());
    auto const is = judge(b.seen, rules);
    unknown = unknown || is == condition::unknown;
    if (is != condition::disturbed) clean.insert(clean.end(), b.seconds.begin(), b.seconds.end());
  }
  require(!all.empty(), [] { return "measured_time_of: there are no timed calls, expected one or more"; });
  measured_time m{.clean = clean.size(), .all = all.size()};
  // A disturbance makes calls longer, so the fastest call is the best guess of how many are needed.
  std::size_t const needed = std::min(all.size(), min_calls(*std::min_element(all.begin(), all.end())));
  if (clean.size() < needed || clean.empty())
    m.disturbed = std::to_string(clean.size()) + " of " + std::to_string(all.size()) +
                  " calls are clean, expected at least " + std::to_string(needed) + ": " +
                  detail::loss_text(batches, rules);
  auto& used = m.disturbed.empty() ? clean : all;
  std::sort(used.begin(), used.end());
  m.median = percentile_of_sorted(used, 50);
  m.low_quartile = percentile_of_sorted(used, 25);
  m.high_quartile = percentile_of_sorted(used, 75);
  m.min = used.front();
  m.max = used.back();
  m.calls = used.size();
  if (auto const range = median_interval(used); range.coverage < 1) m.range = range;
  if (unknown && m.disturbed.empty() && m.range && m.range->high - m.range->low > 0.25 * m.median)
    m.disturbed = detail::formatted("the interval of the median is %.0f %% of it wide",
                                    100 * (m.range->high - m.range->low) / m.median) +
                  ", and the system does not say who ran";
  return m;
}

}  // namespace mbirk::profile
