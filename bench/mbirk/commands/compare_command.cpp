// mbirk compare: compares two runs of the profiler, operation by operation and size by size.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "commands/command.hpp"
#include "input/json_field.hpp"
#include "operations/policy.hpp"

namespace mbirk::program {
namespace {

struct compare_options : common_options {
  std::string a, b;
  double max_slowdown = 1.10;
  bool by_roof = false;
};

struct measured_run {
  using key = std::pair<index_t, std::string>;  ///< size, operation: tables are ordered by size
  std::map<key, double> seconds;                ///< median times, or multiples of the roof
  std::string environment;                      ///< the properties that make times comparable
};

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  auto const n = times.size();
  return n % 2 ? times[n / 2] : (times[n / 2 - 1] + times[n / 2]) / 2;
}

/// Medians of the untraced runs: of the timing runs (the third and later), or of all runs if there are none. With
/// by_roof, each time is divided by the time that the ceilings of its machine allow, as written by mbirk bench.
measured_run read_run(std::string const& path, bool by_roof) {
  json const document = read_json(path);
  json_field const root(document, path);
  // Timing runs, and all untraced runs.
  std::map<measured_run::key, std::pair<std::vector<double>, std::vector<double>>> times;
  for (auto const& m : root.at("measurements", "an array of measurements").elements("an array of measurements")) {
    auto const operation = m.at("operation", "the name of an operation").text();
    auto const size = m.at("volume_size", "a whole number").integer();
    auto const run = m.at("run", "a whole number").integer();
    auto time = m.at("time", "seconds >= 0").number("seconds >= 0");
    if (!(time >= 0)) m.at("time", "").wrong("seconds >= 0");
    if (by_roof) {
      auto const roof = m.at("roof", "seconds > 0, as mbirk bench writes them").number("seconds > 0");
      if (!(roof > 0)) m.at("roof", "").wrong("seconds > 0");
      time /= roof;
    }
    if (m.has("traced") && m.at("traced", "").boolean()) continue;
    auto& [timing, untraced] = times[{size, operation}];
    untraced.push_back(time);
    if (run >= 3) timing.push_back(time);
  }
  require<io_error>(!times.empty(), [&] { return path + ": measurements has no untraced run, expected at least one"; });
  measured_run r;
  for (auto const& [key, t] : times) r.seconds[key] = median(t.first.empty() ? t.second : t.first);
  if (root.has("environment")) {
    auto const environment = root.at("environment", "");
    for (auto const* name : {"backend", "cpu", "threads", "devices"})
      if (environment.has(name))
        r.environment += (r.environment.empty() ? "" : ", ") + (name + (" " + environment.at(name, "").value().dump()));
  }
  return r;
}

std::string milliseconds(std::optional<double> seconds) {
  return seconds ? fmt::format("{:.4f}", 1e3 * *seconds) : "-";
}

int compare(compare_options const& o) {
  chosen_policy const policy(o);  // throws if the policy is not available
  auto const a = read_run(o.a, o.by_roof), b = read_run(o.b, o.by_roof);
  if (a.environment != b.environment && !o.quiet && !o.by_roof)
    fmt::print("note: the runs come from different environments\n  A: {}\n  B: {}\n", a.environment, b.environment);

  std::map<measured_run::key, std::pair<std::optional<double>, std::optional<double>>> rows;
  for (auto const& [key, t] : a.seconds) rows[key].first = t;
  for (auto const& [key, t] : b.seconds) rows[key].second = t;
  std::size_t width = 9, bad = 0;
  auto const text = [&](std::optional<double> x) {
    return x && o.by_roof ? fmt::format("{:.3f}", *x) : milliseconds(x);
  };
  for (auto const& [key, t] : rows) width = std::max(width, key.second.size());
  fmt::print("{:{}}  {:>6}  {:>12}  {:>12}  {:>7}\n", "operation", width, "size", o.by_roof ? "A / roof" : "A ms",
             o.by_roof ? "B / roof" : "B ms", "B / A");
  for (auto const& [key, t] : rows) {
    auto const& [before, after] = t;
    std::string ratio = "-", verdict = "new";
    if (before && after) {
      double const r = *before > 0 ? *after / *before : *after > 0 ? std::numeric_limits<double>::infinity() : 1;
      ratio = fmt::format("{:.3f}", r);
      verdict = r > o.max_slowdown ? "SLOWER" : "ok";
    } else if (before) {
      verdict = "MISSING";
    }
    bad += verdict == "SLOWER" || verdict == "MISSING";
    fmt::print("{:{}}  {:>6}  {:>12}  {:>12}  {:>7}  {}\n", key.second, width, key.first, text(before), text(after),
               ratio, verdict);
  }
  fmt::print("{} of {} slower than {:g} times or missing\n", bad, rows.size(), o.max_slowdown);
  return bad ? check_failed : done;
}

}  // namespace

void add_compare_command(CLI::App& app, chosen_command& chosen) {
  auto* const command =
      app.add_subcommand("compare", "Compare two runs of the profiler: ratios of medians by operation and size");
  auto const o = std::make_shared<compare_options>();
  command->add_option("A.json", o->a, "The run to compare with")->required();
  command->add_option("B.json", o->b, "The run to judge")->required();
  command->add_option("--max-slowdown", o->max_slowdown, "How many times slower B may be before the exit code is 1")
      ->check(CLI::Range(1e-9, 1e9))
      ->type_name("RATIO")
      ->capture_default_str();
  command->add_flag("--by-roof", o->by_roof,
                    "Compare multiples of the roof (mbirk bench), which another machine does not change so much");
  add_common_options(*command, *o);
  command->callback([o, &chosen] { chosen = [o] { return compare(*o); }; });
}

}  // namespace mbirk::program
