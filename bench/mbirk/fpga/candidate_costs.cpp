#include "fpga/candidate_costs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>

#include "fpga/candidate_pipelines.hpp"
#include "fpga/fpga_design.hpp"
#include "fpga/stage_groups.hpp"

namespace mbirk::program {

namespace pf = mbirk::profile::fpga;

json share_of(json_field const& root, std::string const& name, json_field const& costs, pf::machine_roofs const& m) {
  auto const dash = name.find('_');
  std::string const geometry = name.substr(0, dash), rest = dash == name.npos ? "" : name.substr(dash + 1),
                    whole = geometry + "_mbir_recon";
  if (name == whole || rest == "prox_map" || name == "qggmrf_denoise")
    return {{"of", name}, {"value", 1.0}, {"source", "it is a pipeline"}};
  auto const* const group = group_of_operation(name);
  if (group && root.has("reconstructions") && root.at("reconstructions", "").has(whole)) {
    auto const measured = root.at("reconstructions", "").at(whole, "an object");
    for (auto const& g : measured.at("groups", "an array of groups").elements())
      if (g.at("group", "a name").text() == group->name && g.has("share"))
        return {{"of", whole},
                {"value", count_of(g, "share")},
                {"source", "measured over " + std::to_string(measured.at("iterations", "a number").integer()) +
                               " iterations at size " + std::to_string(measured.at("size", "a number").integer())}};
  }
  std::set<std::string> const forward{"error", "line search"}, back{"back", "project"};
  std::map<std::string, std::set<std::string>> const stages{{"forward_project", forward},
                                                            {"sparse_forward_project", forward},
                                                            {"back_project", back},
                                                            {"sparse_back_project", back},
                                                            {"hessian_diagonal", {"Hessian"}},
                                                            {"direct_filter", {"filter", "filter weights"}}};
  auto const mine = stages.find(rest);
  if (mine == stages.end() || !costs.has(whole)) return nullptr;
  double part = 0, all = 0;
  for (auto const& s : costs.at(whole, "").at("stages", "an array of stages").elements()) {
    double const seconds = roof_seconds(m, count_of(s, "flops"), count_of(s, "bytes accessed"));
    all += seconds;
    if (mine->second.contains(s.at("name", "a name").text())) part += seconds;
  }
  return all > 0 ? json{{"of", whole}, {"value", part / all}, {"source", "roof times of its stages"}} : json(nullptr);
}

json values_of(json_field const& cost) {
  json all = json::array();
  for (auto const& a : cost.at("arrays", "an array of arrays").elements()) {
    if (!a.has("values")) continue;
    auto const v = a.at("values", "an object");
    double const low = v.at("min", "a number").number(), high = v.at("max", "a number").number(),
                 most = std::max(std::fabs(low), std::fabs(high));
    int least = 0, last = 0;
    bool first = true;
    for (auto const& [e, n] : v.at("exponents", "an object").object().items()) {
      int const exponent = std::atoi(e.c_str());
      least = first ? exponent : std::min(least, exponent);
      last = first ? exponent : std::max(last, exponent);
      first = false;
    }
    json one{{"array", a.at("name", "a name").text()},
             {"role", a.at("role", "a role").text()},
             {"min", low},
             {"max", high},
             {"exponent span", first ? 0 : last - least + 1}};
    // Includes a sign bit and a guard bit.
    one["integer bits"] = most > 0 ? json(static_cast<int>(std::ceil(std::log2(most))) + 2) : json(nullptr);
    all.push_back(one);
  }
  return all;
}

json access_of(json_field const& cost, pf::counted_work const& w) {
  double loads = 0, requests = 0, sectors = 0, streamed = 0, bytes = 0;
  for (auto const& a : cost.at("arrays", "an array of arrays").elements()) {
    loads += count_of(a, "loads");
    requests += count_or_0(a, "requests");
    sectors += count_or_0(a, "sectors");
    if (!outer(a.at("role", "a role").text()) || !a.has("reuse")) continue;
    auto const curve = curve_of(a.at("reuse", "an object"));
    bytes += curve.floor();
    if (curve.traffic.front() <= 1.1 * curve.floor()) streamed += curve.floor();
  }
  auto const mix = access_mix_of(cost);
  return {{"class", pf::name_of(mix.dominant())},
          {"classes", mix.to_json()},
          {"sectors per request", requests > 0 ? json(sectors / requests) : json(nullptr)},
          {"bytes per load", loads > 0 ? json(w.bytes_loaded / loads) : json(nullptr)},
          {"streamed", bytes > 0 ? json(streamed / bytes) : json(nullptr)}};
}

json intensity_of(pf::counted_work const& w, pf::machine_roofs const& m) {
  auto const ratio = [&](double bytes) { return bytes > 0 ? json(w.flops() / bytes) : json(nullptr); };
  json levels = json::array();
  if (!w.misses.empty())
    for (auto const& level : m.levels)
      if (level.bytes > 0) {
        double const traffic = w.misses.at(level.bytes);
        levels.push_back(
            {{"level", level.name}, {"bytes", level.bytes}, {"traffic", traffic}, {"flops per byte", ratio(traffic)}});
      }
  return {{"issued", ratio(w.bytes_accessed)}, {"compulsory", ratio(w.bytes_compulsory)}, {"levels", levels}};
}

json optimal_seconds(pf::counted_work const& w, std::vector<pf::device> const& devices) {
  json all = json::object();
  for (auto const& d : devices) {
    double const peak =
        d.kind == pf::device_kind::fpga ? 2 * d.dsp.value / d.f32_fma_dsp.value * d.clock.value : d.flops.value;
    double const compute = w.flops() / peak, memory = w.bytes_compulsory / d.memory_rate.value;
    all[d.name] = {{"seconds", std::max(compute, memory)}, {"limiter", compute > memory ? "compute" : "DRAM"}};
  }
  return all;
}

}  // namespace mbirk::program
