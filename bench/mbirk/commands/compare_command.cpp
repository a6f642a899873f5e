// mbirk compare: compares two runs of the profiler, operation by operation and size by size.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "commands/command.hpp"
#include "input/json_field.hpp"
#include "input/measured_times.hpp"
#include "operations/policy.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

struct compare_options : common_options {
  std::string a, b;
  double max_slowdown = 1.10;
  bool by_roof = false;
};

struct measured_run {
  using key = std::pair<index_t, std::string>;   ///< size, operation: tables are ordered by size
  std::map<key, measured_operation_time> times;  ///< in seconds, or multiples of the roof
  std::string environment;                       ///< the properties that make times comparable
};

/// With by_roof, each time is divided by the time that the ceilings of its machine allow, as written by mbirk bench.
measured_run read_run(std::string const& path, bool by_roof) {
  json const document = read_json(path);
  json_field const root(document, path);
  auto const roof = [](json_field const& m) {
    auto const seconds = m.at("roof", "seconds > 0, as mbirk bench writes them").number("seconds > 0");
    if (!(seconds > 0)) m.at("roof", "").wrong("seconds > 0");
    return seconds;
  };
  measured_run r;
  for (auto& t : operation_times(root, by_roof ? roof : std::function<double(json_field const&)>()))
    r.times[{t.size, t.operation}] = std::move(t);
  require<io_error>(!r.times.empty(),
                    [&] { return path + ": measurements has no untraced run, expected at least one"; });
  if (root.has("environment")) {
    auto const environment = root.at("environment", "");
    for (auto const* name : {"backend", "cpu", "threads", "devices", "ranks"})
      if (environment.has(name))
        r.environment += (r.environment.empty() ? "" : ", ") + (name + (" " + environment.at(name, "").value().dump()));
  }
  return r;
}

int compare(compare_options const& o) {
  chosen_policy const policy(o);  // throws if the policy is not available
  auto const a = read_run(o.a, o.by_roof), b = read_run(o.b, o.by_roof);
  if (a.environment != b.environment && !o.quiet && !o.by_roof)
    show("note: the runs come from different environments\n  A: {}\n  B: {}\n", a.environment, b.environment);

  std::map<measured_run::key, std::pair<measured_operation_time const*, measured_operation_time const*>> rows;
  for (auto const& [key, t] : a.times) rows[key].first = &t;
  for (auto const& [key, t] : b.times) rows[key].second = &t;
  std::size_t width = 9, bad = 0, disturbed = 0;
  auto const is_disturbed = [](auto const* t) { return !t->disturbed.empty(); };
  for (auto const& [key, t] : rows) {
    width = std::max(width, key.second.size());
    disturbed += t.first && t.second && (is_disturbed(t.first) || is_disturbed(t.second));
  }
  if (disturbed)
    show("{} of {} were disturbed by other programs and are not compared: measure again on a quiet machine\n",
         disturbed, rows.size());
  auto const text = [&](measured_operation_time const* t) {
    return !t          ? std::string("-")
           : o.by_roof ? fmt::format("{:.3f}", t->median)
                       : fmt::format("{:.4f}", 1e3 * t->median);
  };
  show("{:{}}  {:>6}  {:>12}  {:>12}  {:>7}\n", "operation", width, "size", o.by_roof ? "A / roof" : "A ms",
       o.by_roof ? "B / roof" : "B ms", "B / A");
  for (auto const& [key, t] : rows) {
    auto const& [before, after] = t;
    std::string ratio = "-", verdict = "new";
    if (before && after && (is_disturbed(before) || is_disturbed(after))) {
      verdict = "disturbed";
    } else if (before && after) {
      double const r = before->median > 0  ? after->median / before->median
                       : after->median > 0 ? std::numeric_limits<double>::infinity()
                                           : 1;
      ratio = fmt::format("{:.3f}", r);
      verdict = r > o.max_slowdown ? "SLOWER" : "ok";
    } else if (before) {
      verdict = "MISSING";
    }
    bad += verdict == "SLOWER" || verdict == "MISSING";
    show("{:{}}  {:>6}  {:>12}  {:>12}  {:>7}  {}\n", key.second, width, key.first, text(before), text(after), ratio,
         verdict);
  }
  show("{} of {} slower than {:g} times or missing\n", bad, rows.size(), o.max_slowdown);
  return bad ? check_failed : done;
}

}  // namespace

void add_compare_command(CLI::App& app, chosen_command& chosen) {
  auto* const command =
      app.add_subcommand("compare", "Compare two runs of the profiler: ratios of medians by operation and size");
  auto const o = std::make_shared<compare_options>();
  command->add_option("A.json", o->a, "Reference run")->required();
  command->add_option("B.json", o->b, "Run to be judged")->required();
  command->add_option("--max-slowdown", o->max_slowdown, "Ratio of times above which B counts as slower (exit code 1)")
      ->check(number_between(1e-9, 1e9))
      ->type_name("RATIO")
      ->capture_default_str();
  command->add_flag("--by-roof", o->by_roof,
                    "Compare times relative to the roofline bounds of mbirk bench, which depend less on the machine");
  add_common_options(*command, *o, true);
  command->callback([o, &chosen] { chosen = [o] { return compare(*o); }; });
}

}  // namespace mbirk::program
