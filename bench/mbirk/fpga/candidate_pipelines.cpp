#include "fpga/candidate_pipelines.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "fpga/stage_groups.hpp"

namespace mbirk::program {
namespace {

namespace pf = mbirk::profile::fpga;

/// Rates (flops, bytes) for comparing stages; 1 if unknown.
std::pair<double, double> rates_of(pf::machine_roofs const& m) {
  double const flops = m.flops > 0 ? m.flops : 1;
  return {flops, m.levels.empty() || m.levels.front().rate <= 0 ? flops : m.levels.front().rate};
}

}  // namespace

double roof_seconds(pf::machine_roofs const& m, double flops, double bytes) {
  auto const [compute, memory] = rates_of(m);
  return std::max(flops / compute, bytes / memory);
}

std::map<size_and_name, traced_stages> traced_stages_of(json_field const& root) {
  std::map<size_and_name, traced_stages> all;
  for (auto const& m : root.at("measurements", "an array of measurements").elements()) {
    if (!m.has("stages")) continue;
    auto& to = all[{m.at("volume_size", "a whole number").integer(), m.at("operation", "a name").text()}];
    to.seconds = seconds_of(m);
    for (auto const& [path, stage] : m.at("stages", "an object").members())
      to.by_path[path] = {count_of(stage, "seconds"), stage.at("runs", "a whole number").integer()};
  }
  return all;
}

std::size_t first_of_iteration(std::vector<json_field> const& stages, json_field const& cost) {
  std::set<std::string> inside, outside;
  if (cost.has("kernels"))
    for (auto const& k : cost.at("kernels", "").elements()) {
      auto const path = k.at("stage", "a path").text();
      (path.starts_with("iteration/") ? inside : outside).insert(last_of(path));
    }
  auto const first = std::find_if(stages.begin(), stages.end(), [&](auto const& s) {
    auto const name = s.at("name", "a name").text();
    return inside.contains(name) && !outside.contains(name);
  });
  return static_cast<std::size_t>(first - stages.begin());
}

pf::sourced calls_of(std::string const& name, json_field const& costs, int iterations) {
  auto const dash = name.find('_');
  std::string const geometry = name.substr(0, dash), rest = dash == name.npos ? "" : name.substr(dash + 1);
  double const n = iterations;
  auto const of_iterations = fmt::format("{} iterations of a reconstruction", iterations);
  if (rest == "mbir_recon" || rest == "prox_map" || rest == "vcd_iteration" || name == "qggmrf_denoise")
    return {n, pf::mark::assumed, of_iterations};
  if (rest == "forward_project" || rest == "back_project")
    return {n, pf::mark::assumed, of_iterations + ", all pixels once in each"};
  std::map<std::string, std::string> const subset_stages{{"sparse_forward_project", "line search"},
                                                         {"sparse_back_project", "back"}};
  auto const mine = subset_stages.find(rest);
  if (mine == subset_stages.end()) return {1, pf::mark::measured, "not called in an iteration"};
  if (!costs.has(geometry + "_mbir_recon"))
    return {n, pf::mark::assumed,
            of_iterations + "; how many subsets they have is not known, because none was profiled"};
  auto const recon = costs.at(geometry + "_mbir_recon", "");
  auto const stages = recon.at("stages", "an array of stages").elements();
  index_t runs = 0;
  for (std::size_t k = first_of_iteration(stages, recon); k < stages.size(); ++k)
    runs += stages[k].at("name", "a name").text() == mine->second;
  return {n * static_cast<double>(std::max<index_t>(1, runs)), pf::mark::assumed,
          fmt::format("{}, {} runs of the stage {} in the one that was profiled", of_iterations, runs, mine->second)};
}

json stages_of(json_field const& cost, pf::machine_roofs const& m, traced_stages const* traced) {
  json list = json::array();
  std::map<std::string, std::size_t> place;
  std::vector<double> accessed;
  double all = 0;
  for (auto const& s : cost.at("stages", "an array of stages").elements()) {
    auto const name = s.at("name", "a name").text();
    double const flops = count_of(s, "flops"), bytes = count_of(s, "bytes accessed"),
                 seconds = roof_seconds(m, flops, bytes);
    all += seconds;
    if (!place.contains(name)) {
      place[name] = list.size();
      accessed.push_back(0);
      list.push_back({{"stage", name},
                      {"runs", 0},
                      {"flops", 0.0},
                      {"bytes", 0.0},
                      {"share", 0.0},
                      {"limiter", ""},
                      {"traced seconds", nullptr}});
    }
    auto& one = list[place[name]];
    accessed[place[name]] += bytes;
    one["runs"] = one["runs"].get<index_t>() + 1;
    one["flops"] = one["flops"].get<double>() + flops;
    one["share"] = one["share"].get<double>() + seconds;
    one["bytes"] = one["bytes"].get<double>() + count_or_0(s, "bytes compulsory");
  }
  if (list.size() < 2) return nullptr;
  auto const [compute, memory] = rates_of(m);
  for (std::size_t k = 0; k < list.size(); ++k) {
    auto& one = list[k];
    one["share"] = all > 0 ? one["share"].get<double>() / all : 0.0;
    one["limiter"] = one["flops"].get<double>() / compute > accessed[k] / memory ? "compute" : "memory";
    if (!traced) continue;
    double seconds = 0;
    for (auto const& [path, stage] : traced->by_path)
      if (last_of(path) == one["stage"].get<std::string>()) seconds += stage.seconds;
    one["traced seconds"] = seconds;
  }
  return list;
}

json iteration_cost(json_field const& recon) {
  auto const all = recon.at("stages", "an array of stages").elements();
  auto const first = first_of_iteration(all, recon);
  if (first == all.size()) return nullptr;
  auto c = merged_stages({all.begin() + static_cast<std::ptrdiff_t>(first), all.end()});
  c.erase("independent sums");  // its results are those of the reconstruction
  c["items"] = recon.at("items", "a number").value();
  c["stages"] = json::array();
  for (std::size_t k = first; k < all.size(); ++k) c["stages"].push_back(all[k].value());
  c["bytes touched"] = recon.at("bytes touched", "bytes").value();
  double launches = 0;
  for (auto const& k : recon.at("kernels", "an array of kernels").elements())
    if (k.at("stage", "a path").text().starts_with("iteration/")) launches += count_of(k, "launches");
  c["launches"] = launches;
  std::map<std::pair<std::string, std::string>, json> accesses;  // keyed by name and role
  for (auto& a : c["arrays"]) {
    auto const key = std::pair(a["name"].get<std::string>(), a["role"].get<std::string>());
    accesses[key] = std::move(a);
  }
  c["arrays"] = json::array();
  for (auto const& a : recon.at("arrays", "an array of arrays").elements()) {
    auto const role = a.at("role", "a role").text();
    if (!outer(role)) continue;
    json one = a.value();
    one.erase("reuse");
    auto const inside = accesses.extract({a.at("name", "a name").text(), role});
    for (auto const* key : {"loads", "stores", "bytes loaded", "bytes stored"})
      one[key] = inside ? inside.mapped()[key] : json(0);
    c["arrays"].push_back(std::move(one));
  }
  for (auto& [key, a] : accesses) c["arrays"].push_back(std::move(a));
  return c;
}

}  // namespace mbirk::program
