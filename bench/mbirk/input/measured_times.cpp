#include "input/measured_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace mbirk::program {
namespace {

double not_negative(json_field const& from, std::string const& key) {
  auto const field = from.at(key, "seconds >= 0");
  auto const x = field.number("seconds >= 0");
  if (!(x >= 0)) field.wrong("seconds >= 0");
  return x;
}

/// Bounded, because they are added up.
index_t number_of_calls(json_field const& from) {
  constexpr index_t most = 1'000'000'000'000;
  auto const calls = from.integer();
  if (calls < 0 || calls > most) from.wrong("a whole number from 0 to 10^12");
  return calls;
}

struct one_run {
  double time, least;
  std::optional<profile::interval> range;
  index_t calls;
  std::string disturbed;
};
one_run run_of(json_field const& m, double unit) {
  one_run r{not_negative(m, "time") / unit, 0, {}, 1, {}};
  r.least = m.has("min") ? not_negative(m, "min") / unit : r.time;
  if (m.has("calls")) r.calls = number_of_calls(m.at("calls", ""));
  if (m.has("interval") && !m.at("interval", "").value().is_null()) {
    auto const ends = m.at("interval", "").elements("two numbers");
    if (ends.size() != 2) m.at("interval", "").wrong("two numbers");
    r.range = {ends[0].number() / unit, ends[1].number() / unit, 0.95};
  }
  if (m.has("disturbed") && m.at("disturbed", "true or false").boolean())
    r.disturbed = m.at("reason", "why it was disturbed").text();
  return r;
}

/// The interval of a single run, or of the medians of many; between, the one that contains those of all runs.
std::optional<profile::interval> range_of(std::vector<one_run> const& runs, std::vector<double> const& medians) {
  if (runs.size() == 1) return runs.front().range;
  if (auto const range = profile::median_interval(medians); range.coverage < 1) return range;
  profile::interval all{runs.front().time, runs.front().time, 0.95};
  for (auto const& r : runs) {
    if (!r.range) return std::nullopt;
    all.low = std::min(all.low, r.range->low);
    all.high = std::max(all.high, r.range->high);
  }
  return all;
}

struct runs_of_operation {
  std::vector<one_run> timing, others;
};

}  // namespace

std::vector<measured_operation_time> operation_times(json_field const& root,
                                                     std::function<double(json_field const&)> const& unit) {
  std::vector<measured_operation_time> all;
  std::map<std::pair<index_t, std::string>, runs_of_operation> runs;
  auto const field = root.at("measurements", "an array of measurements");
  for (auto const& m : field.elements("an array of measurements")) {
    auto const operation = m.at("operation", "the name of an operation").text();
    auto const size = m.at("volume_size", "a whole number > 0").integer("a whole number > 0");
    if (size < 1) m.at("volume_size", "").wrong("a whole number > 0");
    auto const run = m.at("run", "a whole number").integer();
    auto const one = run_of(m, unit ? unit(m) : 1.0);
    bool const traced = m.has("traced") && m.at("traced", "").boolean();
    auto const [at, is_new] = runs.try_emplace({size, operation});
    if (is_new) all.push_back({.operation = operation, .size = size});
    if (!traced) (run >= 3 ? at->second.timing : at->second.others).push_back(one);
  }
  for (auto& t : all) {
    auto& [timing, others] = runs[{t.size, t.operation}];
    t.timing_runs = !timing.empty();
    auto& used = t.timing_runs ? timing : others;
    if (used.empty()) continue;
    if (std::any_of(used.begin(), used.end(), [](auto const& r) { return r.disturbed.empty(); }))
      std::erase_if(used, [](auto const& r) { return !r.disturbed.empty(); });
    else t.disturbed = used.front().disturbed;
    std::vector<double> medians;
    t.least = used.front().least;
    for (auto const& r : used) {
      medians.push_back(r.time);
      t.least = std::min(t.least, r.least);
      t.calls += r.calls;
    }
    t.median = profile::median(medians);
    t.range = range_of(used, medians);
  }
  std::erase_if(all, [](auto const& t) { return t.calls == 0; });  // nothing but traced runs
  return all;
}

std::string disturbed_text(std::vector<measured_operation_time> const& times) {
  auto const count = std::count_if(times.begin(), times.end(), [](auto const& t) { return !t.disturbed.empty(); });
  if (count == 0) return {};
  return fmt::format(
      "{} of {} operations were disturbed by other programs, so their times here are not judged: measure again on a "
      "quiet machine, with --pin, or with a larger --budget",
      count, times.size());
}

index_t size_to_compare(std::map<index_t, std::size_t> const& operations) {
  std::size_t most = 0;
  for (auto const& [size, count] : operations) most = std::max(most, count);
  index_t largest = 0;
  for (auto const& [size, count] : operations)
    if (2 * count >= most) largest = std::max(largest, size);
  return largest;
}
index_t size_to_compare(nlohmann::json const& candidates) {
  std::map<index_t, std::size_t> operations;
  for (auto const& one : candidates) ++operations[one.at("size").get<index_t>()];
  return size_to_compare(operations);
}

std::vector<std::string> left_out_texts(json_field const& root) {
  std::vector<std::string> texts;
  if (!root.has("left_out")) return texts;
  std::map<std::pair<index_t, std::string>, std::vector<std::string>> parts;
  for (auto const& one : root.at("left_out", "").elements("an array of parts")) {
    auto const part = one.at("part", "a part of the work").text();
    double const seconds = not_negative(one, "predicted seconds");
    parts[{one.at("volume_size", "a whole number").integer(), part}].push_back(
        fmt::format("{} ({} s{})", one.at("operation", "the name of an operation").text(),
                    seconds < 10 ? fmt::format("{:.2g}", seconds) : fmt::format("{:.0f}", seconds),
                    part == "times" ? " a call" : ""));
  }
  for (auto const& [what, operations] : parts)
    texts.push_back(fmt::format("no {} at {}: {}", what.second, what.first, fmt::join(operations, ", ")));
  return texts;
}

std::vector<impossible_growth> impossible_growths(std::vector<measured_operation_time> const& times,
                                                  json_field const& root) {
  struct points {
    std::vector<std::pair<double, double>> time, flops;
  };
  std::map<std::string, points> all;
  auto const costs = root.at("cost_analysis", "costs by size");
  for (auto const& t : times) {
    auto const size = std::to_string(t.size);
    if (!t.disturbed.empty() || !costs.has(size) || !costs.at(size, "").has(t.operation)) continue;
    auto& p = all[t.operation];
    p.time.emplace_back(t.size, t.median);
    p.flops.emplace_back(t.size, costs.at(size, "").at(t.operation, "").at("flops", "a number").number());
  }
  std::vector<impossible_growth> found;
  for (auto const& [operation, p] : all) {
    auto const time = profile::growth_exponent(p.time), flops = profile::growth_exponent(p.flops);
    if (time && flops && *time > *flops + 1) found.push_back({operation, *time, *flops});
  }
  return found;
}

std::string growth_text(std::vector<impossible_growth> const& all) {
  std::string text;
  for (auto const& g : all)
    text +=
        fmt::format("{}{} (time ~ N^{:.2f}, flops ~ N^{:.2f})", text.empty() ? "" : ", ", g.operation, g.time, g.flops);
  return text.empty() ? text : "impossible growth, so these times are wrong: " + text;
}

}  // namespace mbirk::program
