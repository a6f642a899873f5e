#include "operations/overhead.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>

#include "mbirk/exec/workspace.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "process/streams.hpp"
#if defined(MBIRK_WITH_NVTX)
#include "mbirk/instrument/nvtx.hpp"
#endif

namespace mbirk::program {
namespace {

using json = nlohmann::json;

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
}

/// Times of calls: wall-clock time and processor time. Other processes disturb the latter less.
struct times {
  std::vector<double> clock, processors;

  void add(std::function<call_cost()> const& call) {
    auto const begin = std::clock();
    clock.push_back(call().seconds);
    processors.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
};

/// Times of two variants called alternately.
struct pairs {
  times plain, watched;

  std::size_t count() const noexcept { return plain.clock.size(); }
  std::vector<double> ratios(std::vector<double> times::*which) const {
    std::vector<double> all;
    for (std::size_t k = 0; k < count(); ++k)
      // A call may be too short for std::clock.
      if ((plain.*which)[k] > 0) all.push_back((watched.*which)[k] / (plain.*which)[k]);
    return all.empty() ? std::vector{1.0} : all;
  }
};

/// Calls each variant once for warm-up, then in pairs whose order alternates, for at least two seconds and 15 pairs
/// unless that would take minutes.
/// @param before  called before each call of the second variant, outside of its time
pairs alternate(std::function<call_cost()> const& plain, std::function<call_cost()> const& watched,
                std::function<void()> const& before) {
  using clock = std::chrono::steady_clock;
  pairs all;
  plain();
  before();
  double const first = watched().seconds;
  std::size_t const least = first < 0.5 ? 15 : first < 3 ? 7 : 3;
  auto const begin = clock::now();
  while (all.count() < least || (clock::now() - begin < std::chrono::seconds(2) && all.count() < 1000)) {
    bool const plain_first = all.count() % 2 == 0;
    if (plain_first) all.plain.add(plain);
    before();
    all.watched.add(watched);
    if (!plain_first) all.plain.add(plain);
  }
  return all;
}

/// Measures one operation under one policy; returns nothing if the program does not support the combination.
std::optional<json> measure_one(std::string const& policy, profile_entry const& entry, profile_problem const& problem,
                                int threads) {
  exec::workspace memory;  // repeated calls then do not pay for fresh pages
  exec::host const host(threads, &memory);
  auto x = problem.make_operands(*entry.op, entry.arguments);
  instrument::trace_buffer trace(1 << 16);
  instrument::ledger counts;
  auto const before = [&] {
    trace.clear();
    counts.clear();
  };
  std::optional<pairs> all;
  entry.op->execute(context{host, instrument::any()}, problem.scan(), x, [&](std::function<call_cost()> const& plain) {
    caller const both = [&](std::function<call_cost()> const& watched) { all = alternate(plain, watched, before); };
    if (policy == "tracing")
      entry.op->execute(context{host, instrument::any(host, instrument::tracing(trace))}, problem.scan(), x, both);
    else if (policy == "unique" || policy == "reuse")
      entry.op->execute(context{host, counting{counts, policy == "reuse"}}, problem.scan(), x, both);
    else if (policy == "model")
      entry.op->execute(context{host, instrument::cost_model<>{counts}}, problem.scan(), x, both);
    else if (policy == "operations")
      entry.op->execute(context{host, counting(counts, instrument::level::operations)}, problem.scan(), x, both);
#if defined(MBIRK_WITH_NVTX)
    else if (policy == "nvtx")
      entry.op->execute(context{host, instrument::any(host, instrument::nvtx())}, problem.scan(), x, both);
#endif
    if (!all) plain();  // first call by execute
  });
  if (!all) return std::nullopt;
  auto const ratios = all->ratios(&times::clock), of_processors = all->ratios(&times::processors);
  json row{{"operation", entry.name},
           {"policy", policy},
           {"pairs", all->count()},
           {"time without", quantile(all->plain.clock, 0.5)},
           {"time", quantile(all->watched.clock, 0.5)},
           {"ratio", quantile(ratios, 0.5)},
           {"ratio quartiles", {quantile(ratios, 0.25), quantile(ratios, 0.75)}},
           {"processor ratio", quantile(of_processors, 0.5)},
           {"processor ratio quartiles", {quantile(of_processors, 0.25), quantile(of_processors, 0.75)}}};
  if (policy == "tracing") {
    row["events"] = trace.events().size();
    row["dropped events"] = trace.dropped();
  }
  return row;
}

}  // namespace

json measure_overhead(std::vector<std::string> const& policies, std::vector<index_t> const& sizes,
                      std::vector<profile_entry const*> const& entries, int threads) {
  show(
      "| operation | size | policy | without, ms | with, ms | ratio | quartiles | processor time | quartiles | pairs | "
      "events |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|\n");
  json rows = json::array();
  for (auto const& policy : policies)
    for (auto const n : sizes) {
      std::unique_ptr<profile_problem> problem;
      std::string made_for;
      for (auto const* entry : entries) {
        if (made_for != entry->geometry) {
          problem = std::make_unique<profile_problem>(entry->geometry, n, threads, true);
          made_for = entry->geometry;
        }
        auto row = measure_one(policy, *entry, *problem, threads);
        if (!row) continue;
        (*row)["volume_size"] = n;
        auto const number = [&](char const* key) { return (*row)[key].get<double>(); };
        auto const spread = [&](char const* key) {
          return fmt::format("{:.4g} to {:.4g}", (*row)[key][0].get<double>(), (*row)[key][1].get<double>());
        };
        show("| {} | {} | {} | {:.4g} | {:.4g} | {:.4g} | {} | {:.4g} | {} | {} | {} |\n", entry->name, n, policy,
             1e3 * number("time without"), 1e3 * number("time"), number("ratio"), spread("ratio quartiles"),
             number("processor ratio"), spread("processor ratio quartiles"), (*row)["pairs"].get<int>(),
             row->contains("events") ? (*row)["events"].dump() : "");
        std::fflush(stdout);
        rows.push_back(std::move(*row));
      }
    }
  return rows;
}

}  // namespace mbirk::program
