#include "fpga/candidate_input.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <map>

namespace mbirk::program {

namespace pf = mbirk::profile::fpga;

double count_of(json_field const& of, std::string const& key) {
  auto const field = of.at(key, "a number >= 0");
  double const x = field.number("a number >= 0");
  if (!(x >= 0)) field.wrong("a number >= 0");
  return x;
}

pf::miss_curve curve_of(json_field const& reuse) {
  pf::miss_curve m;
  auto const lines = reuse.at("capacity lines", "an array of sizes").elements(),
             misses = reuse.at("read misses", "an array of counts").elements(),
             backs = reuse.at("write backs", "an array of counts").elements();
  if (lines.empty() || misses.size() != lines.size() || backs.size() != lines.size())
    reuse.wrong("as many read misses and write backs as capacity lines");
  double const line = count_of(reuse, "line bytes");
  for (std::size_t k = 0; k < lines.size(); ++k) {
    m.bytes.push_back(line * lines[k].number());
    m.traffic.push_back(line * (misses[k].number() + backs[k].number()));
  }
  return m;
}

pf::counted_work work_of(json_field const& cost) {
  pf::counted_work w;
  w.items = count_of(cost, "items");
  auto const o = cost.at("operations", "an object of counts");
  for (auto const& [name, to] : std::initializer_list<std::pair<char const*, double*>>{{"add", &w.add},
                                                                                       {"mul", &w.mul},
                                                                                       {"fma", &w.fma},
                                                                                       {"div", &w.div},
                                                                                       {"sqrt", &w.sqrt},
                                                                                       {"min max", &w.min_max},
                                                                                       {"compare", &w.compare},
                                                                                       {"select", &w.select},
                                                                                       {"round", &w.round},
                                                                                       {"convert", &w.convert},
                                                                                       {"integer", &w.integer},
                                                                                       {"exp", &w.exp},
                                                                                       {"log", &w.log}})
    *to = count_or_0(o, name);
  w.vector_operations = count_of(cost, "vector operations");
  if (cost.has("lanes useful")) w.lanes_useful = count_of(cost, "lanes useful");
  w.bytes_accessed = count_of(cost, "bytes accessed");
  w.bytes_compulsory = count_of(cost, "bytes compulsory");
  w.bytes_touched = count_of(cost, "bytes touched");
  w.launches = count_of(cost, "launches");
  for (auto const& a : cost.at("arrays", "an array of arrays").elements()) {
    auto const role = a.at("role", "a role").text();
    w.bytes_loaded += count_of(a, "bytes loaded");
    double const read = count_or_0(a, "bytes unique read"), written = count_or_0(a, "bytes unique written");
    if (!outer(role)) continue;
    if (read > 0) {
      w.argument_bytes += read;
      ++w.arguments;
    }
    if (written > 0) {
      w.output_bytes += written;
      w.output_elements += count_of(a, "elements");
      ++w.outputs;
    }
  }
  if (cost.has("independent sums")) w.output_elements = count_of(cost, "independent sums");
  std::map<std::string, double> stages;  // stages of one name form one unit
  for (auto const& s : cost.at("stages", "an array of stages").elements())
    stages[s.at("name", "a name").text()] += count_of(s, "flops");
  std::vector<double> work;
  for (auto const& [name, flops] : stages) work.push_back(flops);
  w.stage_factor = pf::stages_in_turn(work);
  if (cost.has("reuse")) w.misses = curve_of(cost.at("reuse", "an object"));
  return w;
}

namespace {

/// Roofs of the host from mbirk's measurements.
pf::machine_roofs roofs_of(json_field const& ceilings, double vector_lanes) {
  pf::machine_roofs m;
  auto const best = [](json_field const& rate) { return count_of(rate, "best"); };
  double const fma = best(ceilings.at("fma per second", "an object")), threads = count_of(ceilings, "threads");
  m.flops = 2 * fma;
  m.vector_operations = 2 * fma / vector_lanes;  // assumes at most two packs issued per FMA
  for (auto const& level : ceilings.at("read", "an array of levels").elements()) {
    auto const name = level.at("name", "a name").text();
    double const bytes = 2 * count_of(level, "bytes of a thread");  // the measurement reads half of a level
    m.levels.push_back({name,
                        name == "L3"     ? bytes * threads
                        : name == "DRAM" ? 0
                                         : bytes,
                        best(level.at("bytes per second", "an object"))});
  }
  if (!m.levels.empty())
    m.levels.back().rate = std::max(m.levels.back().rate, best(ceilings.at("triad bytes per second", "an object")));
  m.launch_seconds = count_or_0(ceilings, "launch seconds");
  return m;
}

/// Energy is counted in steps of a millisecond or more, so shorter measurements say little about one operation.
constexpr double seconds_of_power = 0.1;

/// Whether a counted energy is a part of what the machine took: packages (with their cores) and their memory, or the
/// device that ran the operations.
bool is_part(std::string const& counter, bool on_device) {
  if (on_device) return counter == "joules device";
  return counter.starts_with("joules package-") || counter.starts_with("joules dram");
}

/// Replaces the watts by those of the counted energy, if the run has any.
void read_power(json_field const& root, bool on_device, measured_machine& m) {
  if (!root.has("cost_analysis")) return;
  double all_joules = 0, all_seconds = 0;
  for (auto const& [size, operations] : root.at("cost_analysis", "an object by size").members())
    for (auto const& [name, cost] : operations.members()) {
      if (!cost.has("hardware")) continue;
      auto const hardware = cost.at("hardware", "an object of counts");
      double const seconds = count_or_0(hardware, "wall seconds"), calls = count_or_0(hardware, "calls");
      double joules = 0;
      for (auto const& [counter, value] : hardware.members())
        if (is_part(counter, on_device)) joules += count_of(hardware, counter);
      if (!(joules > 0) || !(seconds > 0)) continue;
      all_joules += joules * calls;
      all_seconds += seconds * calls;
      if (seconds * calls >= seconds_of_power) m.watts_of[{std::stoll(size), name}] = joules / seconds;
    }
  if (!(all_seconds > 0)) return;
  m.measured_power = true;
  m.watts = all_joules / all_seconds;
}

}  // namespace

measured_machine machine_of(json_field const& root, std::vector<pf::device> const& devices) {
  measured_machine m;
  auto const e = root.at("environment", "an object");
  if (e.at("backend", "host, cuda or emulated").text() == "cuda") {
    auto const names = e.at("devices", "an array of names").elements();
    if (names.empty()) e.at("devices", "").wrong("the name of a device");
    m.name = names.front().text();
    for (auto const& d : devices)
      if (d.kind == pf::device_kind::gpu && m.name.find(d.name) != std::string::npos) {
        m.source = "data sheet";
        m.roofs.flops = d.flops.value;
        m.roofs.launch_seconds = d.launch_seconds.value;
        m.roofs.levels = {{"cache", d.cache_bytes.value, 0}, {"DRAM", 0, d.memory_rate.value}};
        m.watts = d.watts.value;
        m.idle_watts = d.idle_watts.value;
        m.buffer_seconds = d.buffer_seconds.value;
        m.upload_rate = d.upload_rate.value;
        m.download_rate = d.download_rate.value;
      }
    read_power(root, true, m);
    return m;
  }
  double const threads = count_of(e, "threads");
  m.name = e.at("cpu", "a name").text() + fmt::format(", {:g} threads", threads);
  m.watts = pf::device_data::host_watts_per_thread().value * threads;
  read_power(root, false, m);
  if (root.has("ceilings")) {
    m.source = "measured ceilings";
    m.roofs = roofs_of(root.at("ceilings", "an object"), count_of(e, "vector_lanes"));
  }
  return m;
}

double seconds_of(json_field const& measurement) {
  auto const field = measurement.at("time", "seconds > 0");
  double const seconds = field.number("seconds > 0");
  if (!(seconds > 0)) field.wrong("seconds > 0");
  return seconds;
}

std::vector<measured_operation_time> times_of(json_field const& root) {
  for (auto const& m : root.at("measurements", "an array of measurements").elements()) seconds_of(m);
  return operation_times(root);
}

}  // namespace mbirk::program
