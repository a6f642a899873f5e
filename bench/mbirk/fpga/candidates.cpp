#include "fpga/candidates.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "fpga/candidate_costs.hpp"
#include "fpga/candidate_judgement.hpp"
#include "fpga/candidate_pipelines.hpp"
#include "fpga/gpu_column.hpp"
#include "fpga/plan.hpp"
#include "gpu/device_table.hpp"
#include "input/measured_times.hpp"
#include "mbirk/profile/candidate_verdict.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

namespace pf = mbirk::profile::fpga;
using program::to_json;

json to_json(pf::device const& d) {
  static constexpr char const* kinds[] = {"fpga", "gpu", "cpu"};
  json j{{"kind", kinds[static_cast<int>(d.kind)]}};
  for (auto const& [name, number] : numbers_of(d)) j[std::string(name)] = to_json(number);
  return j;
}
json to_json(pf::decision_rules const& r, int iterations) {
  return {{"rules",
           {{"speed-up", to_json(r.speed_up)},
            {"energy ratio", to_json(r.energy_ratio)},
            {"energy ratio low", to_json(r.energy_low)},
            {"least speed", to_json(r.least_speed)},
            {"least share", to_json(r.least_share)},
            {"iterations per transfer", to_json({static_cast<double>(iterations), pf::mark::assumed,
                                                 "iterations of a reconstruction whose arrays are sent once"})}}},
          {"factors",
           {{"clock", to_json(r.clock)},
            {"resources", to_json(r.resources)},
            {"pipeline", to_json(r.pipeline)},
            {"cost per lane", to_json(r.per_lane)},
            {"memory", to_json(r.memory)},
            {"traffic", to_json(r.traffic)},
            {"link", to_json(r.link)},
            {"power", to_json(r.power)},
            {"time", to_json(r.time)}}}};
}

std::string plain(std::string const& name) {
  std::string out;
  for (char const c : name)
    if (c != ' ' && c != '-' && c != '_') out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}
bool lists(std::vector<std::string> const& against, std::string const& name) {
  return std::ranges::any_of(against, [&](auto const& one) { return plain(one) == plain(name) || one == "all"; });
}

}  // namespace

bool candidate_settings::against_host() const { return lists(against, "host"); }
bool candidate_settings::against_device(std::string const& name) const { return lists(against, name); }
void candidate_settings::compare_with(std::vector<std::string> names) {
  against = std::move(names);
  auto const has = [&](std::string const& name) {
    return std::ranges::any_of(
        devices, [&](auto const& d) { return d.kind == pf::device_kind::gpu && plain(d.name) == plain(name); });
  };
  std::string known = "all, host";
  for (auto const& d : devices)
    if (d.kind == pf::device_kind::gpu) known += ", " + plain(d.name);
  std::map<std::string, gpu::device const*> others;
  for (auto const& d : gpu::every_device()) {
    if (has(d.name)) continue;
    others.emplace(plain(d.name), &d);
    known += ", " + plain(d.name);
  }
  require(!against.empty(), [&] { return "--against names nothing, expected some of " + known; });
  for (auto const& one : against) {
    if (plain(one) == "all" || plain(one) == "host" || has(one)) continue;
    auto const other = others.find(plain(one));
    require(other != others.end(),
            [&] { return "--against " + one + " is no device to compare with, expected some of " + known; });
    devices.push_back(device_of_table(*other->second));
  }
}

json candidates_json(json const& report, std::string const& file, candidate_settings const& settings) {
  json_field const root(report, file);
  json devices = json::object();
  for (auto const& d : settings.devices) devices[d.name] = to_json(d);
  json out{{"model", to_json(pf::decision_rules{}, settings.iterations)}, {"devices", devices}};
  if (root.at("environment", "an object").at("backend", "host, cuda or emulated").text() == "emulated") {
    out["skipped"] = "times of the policy emulated are those of the emulation";
    return out;
  }
  auto const machine = machine_of(root, settings.devices);
  out["baseline"] = {{"device", machine.name}, {"source", machine.source}, {"watts", machine.watts},
                     {"power", machine.measured_power ? "measured" : "assumed"}};
  out["notes"] = {
      "counts are those of the host's kernels; reuse is that of their order of loops, which is part of the "
      "recommendation",
      "float32 decides; fixed 16 is a what-if; other fixed words were measured at a small size, where they keep a "
      "bound",
      fmt::format("in a resident pipeline arrays are sent once for {} iterations of a reconstruction",
                  settings.iterations),
      machine.measured_power ? "the watts of the machine are those that it counted while the operations were timed"
                             : "the watts of the machine are assumed: it counts no energy that this program can read",
      "times of a GPU are measured where the run has them, else predicted or estimated from counts, never measured "
      "here"};
  std::vector<ranked_entry> all;
  auto const cost_analysis = root.at("cost_analysis", "an object by size");
  auto const traces = traced_stages_of(root);
  for (auto const& time : times_of(root)) {
    auto const& name = time.operation;
    auto const size = std::to_string(time.size);
    if (!cost_analysis.has(size)) continue;
    auto const costs = cost_analysis.at(size, "");
    if (!costs.has(name)) continue;
    auto const cost = costs.at(name, "an object");
    auto const trace = traces.find({time.size, name});
    auto const* const traced = trace == traces.end() ? nullptr : &trace->second;
    std::optional<json_field> words;
    if (root.has("word_lengths") && root.at("word_lengths", "").has(name))
      words = root.at("word_lengths", "").at(name, "");
    json const share = share_of(root, name, costs, machine.roofs);
    all.push_back(judge_operation({root, time, costs, cost, share, machine, words, traced, settings}));
    if (!name.ends_with("_mbir_recon") || !traced || !traced->by_path.contains("iteration")) continue;
    if (json const iteration = iteration_cost(cost); !iteration.is_null()) {
      double const share_of_iteration = traced->by_path.at("iteration").seconds / traced->seconds;
      traced_stages inside{traced->by_path.at("iteration").seconds, {}};
      for (auto const& [path, stage] : traced->by_path)
        if (path.starts_with("iteration/")) inside.by_path[path] = stage;
      auto const what = name.substr(0, name.size() - std::string("mbir_recon").size()) + "vcd_iteration";
      auto inner = time;
      inner.operation = what;
      inner.median *= share_of_iteration;
      if (inner.range) {
        inner.range->low *= share_of_iteration;
        inner.range->high *= share_of_iteration;
      }
      json const of_whole{{"of", name}, {"value", share_of_iteration}, {"source", "the traced run"}};
      json_field const inner_cost(iteration, file, what);
      std::optional<json_field> const no_words;
      all.push_back(judge_operation({root, inner, costs, inner_cost, of_whole, machine, no_words, &inside, settings}));
    }
  }
  std::sort(all.begin(), all.end(), [](auto const& a, auto const& b) {
    auto const order = [](ranked_entry const& e) {
      return std::tuple(e.size, e.what, e.what == 2 ? -e.speed : -e.saved, e.name);
    };
    return order(a) < order(b);
  });
  out["operations"] = json::array();
  int rank = 0;
  index_t size = -1;
  for (auto& one : all) {
    rank = one.size == size ? rank + 1 : 1;
    size = one.size;
    one.out["rank"] = rank;
    out["operations"].push_back(std::move(one.out));
  }
  out["against"] = settings.against;
  out["plan"] = plan_json(root, machine, settings, out["operations"]);
  return out;
}

void print_candidates(json const& candidates) {
  if (candidates.contains("skipped") || candidates["operations"].empty()) return;
  index_t const largest = size_to_compare(candidates["operations"]);
  print_plan(candidates["plan"]);
  say(
      "\nFPGA candidates at {}^3, against {}, arrays sent once for {} iterations (model and assumptions: "
      "docs/fpga.md)\n",
      largest, opponents_text(candidates),
      candidates["model"]["rules"]["iterations per transfer"]["value"].get<double>());
  for (auto const& o : candidates["operations"]) {
    if (o["size"] != largest || o["rank"] > 5) continue;
    auto const text = [&](char const* key) { return o[key].get<std::string>(); };
    if (o["verdict"].is_null()) {
      say("{:>4}. {:<32} {}\n", o["rank"].get<int>(), text("operation"), text("reason"));
      continue;
    }
    say("{:>4}. {:<32} {:<14} {}: {}{}\n", o["rank"].get<int>(), text("operation"), text("target"), text("verdict"),
        text("reason"), o["holds for attainable"].get<bool>() ? "" : " (only against the present implementation)");
  }
}

}  // namespace mbirk::program
