#include "fpga/stage_groups.hpp"

#include <algorithm>

namespace mbirk::program {
namespace {

/// The number of runs that the entries stand for, each for one unless it says otherwise.
double runs_of(std::vector<json_field> const& stages) {
  double runs = 0;
  for (auto const& s : stages) runs += s.has("runs") ? count_of(s, "runs") : 1;
  return runs;
}

void add_counts(json& to, json_field const& from) {
  for (auto const& [name, n] : from.members()) to[name] = to.value(name, 0.0) + n.number();
}

void add_accesses(instrument::access_counts& to, instrument::access_counts const& from) {
  to.loads += from.loads;
  to.stores += from.stores;
  to.bytes_loaded += from.bytes_loaded;
  to.bytes_stored += from.bytes_stored;
  to.unique_read += from.unique_read;
  to.unique_written += from.unique_written;
  to.touched += from.touched;
  to.requests += from.requests;
  to.sectors += from.sectors;
}

/// Seconds of every stage without those of the stages inside it.
std::map<std::string, double> own_seconds(json const& times) {
  std::map<std::string, double> own;
  for (auto const& [path, stage] : times.items()) own[path] += stage["seconds"].get<double>();
  for (auto const& [path, stage] : times.items())
    if (auto const slash = path.rfind('/'); slash != path.npos)
      if (auto const parent = own.find(path.substr(0, slash)); parent != own.end())
        parent->second -= stage["seconds"].get<double>();
  return own;
}

}  // namespace

std::string last_of(std::string const& path) { return path.substr(path.rfind('/') + 1); }

std::vector<stage_group> const& stage_groups() {
  static std::vector<stage_group> const all{
      {"forward projection", {"error", "line search"}, {"forward_project", "sparse_forward_project"}},
      {"back projection", {"back", "project"}, {"back_project", "sparse_back_project"}},
      {"Hessian diagonal", {"Hessian"}, {"hessian_diagonal"}},
      {"filter", {"filter", "filter weights"}, {"direct_filter"}},
      {"prior and update", {"direction", "update", "positivity"}, {}},
      {"the rest", {}, {}}};
  return all;
}

stage_group const& group_of_stage(std::string const& path) {
  auto const name = last_of(path);
  for (auto const& group : stage_groups())
    if (std::ranges::find(group.stages, name) != group.stages.end()) return group;
  return stage_groups().back();
}

stage_group const* group_of_operation(std::string const& name) {
  auto const dash = name.find('_');
  if (dash == name.npos) return nullptr;
  for (auto const& group : stage_groups())
    if (std::ranges::find(group.operations, name.substr(dash + 1)) != group.operations.end()) return &group;
  return nullptr;
}

json merged_stages(std::vector<json_field> const& stages) {
  json c{{"operations", json::object()}};
  double vector_operations = 0, accessed = 0, compulsory = 0, flops = 0, useful = 0, written = 0;
  std::map<std::pair<std::string, std::string>, json> accesses;  // keyed by name and role
  for (auto const& s : stages) {
    add_counts(c["operations"], s.at("operations", "an object of counts"));
    vector_operations += count_of(s, "vector operations");
    accessed += count_of(s, "bytes accessed");
    compulsory += count_or_0(s, "bytes compulsory");
    double const own = count_of(s, "flops");
    flops += own;
    useful += own * (s.has("lanes useful") ? count_of(s, "lanes useful") : 1);
    for (auto const& a : s.at("arrays", "an array of arrays").elements()) {
      auto const name = a.at("name", "a name").text(), role = a.at("role", "a role").text();
      auto& to = accesses[{name, role}];
      if (to.is_null()) to = {{"name", name}, {"role", role}};
      for (auto const* key : {"loads", "stores", "bytes loaded", "bytes stored"})
        to[key] = to.value(key, 0.0) + count_of(a, key);
      for (auto const* key : {"bytes unique read", "bytes unique written"})
        if (a.has(key)) to[key] = to.value(key, 0.0) + count_of(a, key);
      if (role != "scratch") written += count_or_0(a, "bytes unique written") / 4;
    }
  }
  c["vector operations"] = vector_operations;
  c["bytes accessed"] = accessed;
  c["bytes compulsory"] = compulsory;
  c["flops"] = flops;
  c["lanes useful"] = flops > 0 ? useful / flops : 1.0;
  c["independent sums"] = stages.empty() ? 0.0 : written / runs_of(stages);
  c["arrays"] = json::array();
  for (auto& [key, a] : accesses) c["arrays"].push_back(std::move(a));
  return c;
}

void add_stage_groups(json& reconstruction, json const& times, json const& cost) {
  std::map<std::string, json> seconds;  // by group
  if (times.is_object()) {
    double sum = 0;
    reconstruction["stages"] = json::array();
    for (auto const& [path, own] : own_seconds(times)) {
      auto const& group = group_of_stage(path).name;
      sum += own;
      reconstruction["stages"].push_back(
          {{"stage", path}, {"group", group}, {"seconds", own}, {"runs", times[path]["runs"]}});
      seconds[group] = seconds[group].is_null() ? own : seconds[group].get<double>() + own;
    }
    reconstruction["sum of stages"] = sum;
    for (auto& s : reconstruction["stages"]) s["share"] = sum > 0 ? s["seconds"].get<double>() / sum : 0.0;
    for (auto const& group : stage_groups()) seconds.try_emplace(group.name, 0.0);
    for (auto& [name, of] : seconds) of = {{"seconds", of}, {"share", sum > 0 ? of.get<double>() / sum : 0.0}};
  }
  json_field const root(cost, "the modelled cost");
  std::map<std::string, std::vector<json_field>> stages;
  for (auto const& s : root.at("stages", "an array of stages").elements())
    stages[group_of_stage(s.at("name", "a name").text()).name].push_back(s);
  std::map<std::string, double> launches;
  for (auto const& k : root.at("kernels", "an array of kernels").elements())
    launches[group_of_stage(k.at("stage", "a path").text()).name] += count_of(k, "launches");
  reconstruction["groups"] = json::array();
  for (auto const& group : stage_groups()) {
    auto const& own = stages[group.name];
    json one{{"group", group.name}, {"runs", static_cast<index_t>(runs_of(own))}, {"cost", merged_stages(own)}};
    if (!seconds.empty()) one.update(seconds[group.name]);
    auto& c = one["cost"];
    for (auto& array : c["arrays"])
      if (array["role"] != "scratch") array["role"] = "temporary";  // transfers are those of the whole
    c["launches"] = launches[group.name];
    c["items"] = std::max(1.0, c["flops"].get<double>());  // the unit of rates; any will do
    c["bytes touched"] = c["bytes compulsory"];
    c["stages"] = json::array();
    reconstruction["groups"].push_back(std::move(one));
  }
  // What enters and leaves the whole, once.
  double in = 0, out = 0;
  int buffers = 0;
  for (auto const& a : root.at("arrays", "an array of arrays").elements()) {
    if (!outer(a.at("role", "a role").text())) continue;
    double const read = count_or_0(a, "bytes unique read"), written = count_or_0(a, "bytes unique written");
    auto const role = a.at("role", "").text();
    in += role == "output" ? 0 : read;
    out += role == "output" ? written : 0;
    buffers += read > 0 || written > 0;
  }
  reconstruction["transfers"] = {{"bytes in", in}, {"bytes out", out}, {"buffers", buffers}};
}

std::map<std::string, stage_sum> add_up_stages(instrument::operation_record& record) {
  require(!record.has_reuse, [] { return "stages with reuse do not add up, expected a record without it"; });
  std::map<std::string, stage_sum> sums;
  std::map<std::string, std::size_t> places;
  std::vector<instrument::stage_record> merged;
  for (auto& s : record.stages) {
    auto& sum = sums[s.name];
    auto const flops = static_cast<double>(s.operations.flops());
    auto const executed = static_cast<double>(s.operations.lanes_executed);
    sum.runs += 1;
    sum.useful_flops += flops * (executed > 0 ? static_cast<double>(s.operations.lanes_useful) / executed : 1);
    auto const [place, first] = places.try_emplace(s.name, merged.size());
    if (first) {
      merged.push_back(std::move(s));
      continue;
    }
    auto& to = merged[place->second];
    to.operations += s.operations;
    for (auto const& a : s.arrays) {
      auto const same = [&](instrument::array_record const& b) {
        return a.name == b.name && a.role == b.role && a.type == b.type && a.elements == b.elements;
      };
      auto const known = std::ranges::find_if(to.arrays, same);
      if (known == to.arrays.end()) {
        to.arrays.push_back(a);
        continue;
      }
      add_accesses(known->counts, a.counts);
      known->outside += a.outside;
    }
  }
  record.stages = std::move(merged);
  return sums;
}

json with_sums(json cost, std::map<std::string, stage_sum> const& sums) {
  for (auto& stage : cost["stages"]) {
    auto const& sum = sums.at(stage["name"].get<std::string>());
    stage["runs"] = sum.runs;
    if (double const flops = stage["flops"]; flops > 0) stage["lanes useful"] = sum.useful_flops / flops;
  }
  return cost;
}

}  // namespace mbirk::program
