#include "commands/timed_calls.hpp"

#include "process/streams.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace mbirk::program {
namespace {

using json = nlohmann::json;

/// Nanoseconds suffice, and short numbers keep the file small.
double rounded(double seconds) { return std::round(seconds * 1e9) / 1e9; }

json to_json(profile::batch const& b) {
  auto const optional = [](std::optional<double> x) { return x ? json(rounded(*x)) : json(nullptr); };
  auto const& e = b.seen;
  json times = json::array();
  for (double const t : b.seconds) times.push_back(rounded(t));
  return {{"times", std::move(times)},
          {"state", condition_name(profile::judge(e))},
          {"wall seconds", rounded(e.wall)},
          {"processor seconds", rounded(e.processor)},
          {"waited seconds", optional(e.waited)},
          {"waits", e.waits},
          {"steal seconds", optional(e.stolen)},
          {"involuntary switches", e.involuntary},
          {"limited loops", e.limited_loops},
          {"frequency", e.frequency ? json(*e.frequency) : json(nullptr)}};
}

}  // namespace

void describe(instruments const& with, std::vector<int> const& pinned, json& environment) {
  auto const& counters = with.counters.missing();
  environment["hardware counters"] = counters.empty() ? "all" : counters;
  if (auto const missing = with.evidence.missing(); !missing.empty()) environment["evidence"] = missing;
  if (!pinned.empty()) environment["pinned to"] = pinned;
}

void print_notes(instruments const& with, bool quiet) {
  if (quiet) return;
  for (auto const& line : {with.evidence.missing(), with.counters.missing()})
    if (!line.empty()) note("{}", line);
}

void timed_calls::keep(profile::batch batch, std::map<std::string, double> const& counts) {
  rule_.add(batch.seconds, profile::judge(batch.seen) != profile::condition::disturbed);
  for (auto const& [name, count] : counts) counts_[name] += count;
  batches_.push_back(std::move(batch));
}

void timed_calls::add_batch(instruments& with, std::function<call_cost()> const& call, batch_limits const& limits) {
  if (expected() < limits.warm_below) spent_ += call().seconds;
  profile::batch one;
  double total = 0;
  with.counters.start();
  with.evidence.start();
  while (one.seconds.empty() || (total < limits.seconds && one.seconds.size() < limits.max_calls) ||
         (total < 3 * limits.seconds && one.seconds.size() < limits.min_calls)) {
    auto const cost = call();
    total += one.seconds.emplace_back(cost.seconds);
    transfers_ = cost.transfers;
  }
  one.seen = with.evidence.finish();
  auto const counts = with.counters.finish();
  spent_ += total;
  keep(std::move(one), counts);
}

void timed_calls::add_iteration(instruments const& with, double seconds) {
  auto const seen = with.evidence.finish();
  spent_ += seconds;
  keep({{seconds}, seen}, with.counters.finish());
}

void timed_calls::append(timed_calls other) {
  for (auto& one : other.batches_) keep(std::move(one), {});
  for (auto const& [name, count] : other.counts_) counts_[name] += count;
  spent_ += other.spent_;
  transfers_ = other.transfers_;
}

json timed_calls::to_json() const {
  auto const m = result();
  json samples = json::array();
  for (auto const& b : batches_) samples.push_back(program::to_json(b));
  json j{{"time", m.median},
         {"traced", false},
         {"calls", m.calls},
         {"min", m.min},
         {"max", m.max},
         {"interval", m.range ? json{m.range->low, m.range->high} : json(nullptr)},
         {"clean calls", m.clean},
         {"disturbed", !m.disturbed.empty()},
         {"samples", std::move(samples)}};
  if (!m.disturbed.empty()) j["reason"] = m.disturbed;
  return j;
}

json timed_calls::hardware() const {
  if (counts_.empty()) return nullptr;
  std::size_t calls = 0;
  double wall = 0;
  for (auto const& b : batches_) {
    calls += b.seconds.size();
    wall += b.seen.wall;
  }
  json j{{"calls", calls}, {"wall seconds", wall / static_cast<double>(calls)}};
  for (auto const& [name, count] : counts_) j[name] = count / static_cast<double>(calls);
  return j;
}

void time_in_rounds(std::vector<timed_calls>& all, double share, double& budget,
                    std::function<bool(std::size_t)> const& visit) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  while (!order.empty()) {
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(all[a].expected(), a) < std::pair(all[b].expected(), b);
    });
    std::erase_if(order, [&](std::size_t k) {
      auto const& calls = all[k];
      bool const owed = calls.rule().owed() > 0;
      if (!owed && (calls.rule().enough() || calls.expected() > budget)) return true;
      double const before = calls.spent();
      bool const again = visit(k);
      double const cost = calls.spent() - before;
      budget -= owed ? std::min(cost, share) : cost;
      return !again;
    });
  }
}

}  // namespace mbirk::program
