#include "report/html_report_run.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "input/json_field.hpp"

namespace mbirk::program::report {
namespace {

double not_negative(json_field const& from, std::string const& key) {
  auto const field = from.at(key, "a number >= 0");
  auto const x = field.number("a number >= 0");
  if (!(x >= 0)) field.wrong("a number >= 0");
  return x;
}

/// Every name of the environment with its value as text; arrays are joined by commas.
std::vector<std::pair<std::string, std::string>> flat(json_field const& environment) {
  std::vector<std::pair<std::string, std::string>> out;
  auto const text = [](json const& j) {
    return j.is_string() ? j.get<std::string>() : j.is_null() ? std::string("none") : dump_text(j);
  };
  for (auto const& [name, field] : environment.members()) {
    std::string value;
    if (field.value().is_array()) {
      for (auto const& one : field.value()) value += (value.empty() ? "" : ", ") + text(one);
    } else {
      value = text(field.value());
    }
    out.emplace_back(name, value);
  }
  return out;
}

miss_curve curve_of(json_field const& reuse) {
  auto const line = not_negative(reuse, "line bytes");
  auto const lines = reuse.at("capacity lines", "an array of numbers").elements("an array of numbers");
  auto const misses = reuse.at("read misses", "an array of numbers").elements("an array of numbers");
  std::vector<json_field> backs;
  if (reuse.has("write backs")) backs = reuse.at("write backs", "").elements("an array of numbers");
  if (lines.empty()) reuse.at("capacity lines", "").wrong("at least one number");
  if (misses.size() != lines.size()) reuse.at("read misses", "").wrong("as many numbers as capacity lines");
  if (!backs.empty() && backs.size() != lines.size())
    reuse.at("write backs", "").wrong("as many numbers as capacity lines");
  miss_curve c;
  for (std::size_t k = 0; k < lines.size(); ++k) {
    c.bytes.push_back(lines[k].number() * line);
    c.traffic.push_back((misses[k].number() + (backs.empty() ? 0 : backs[k].number())) * line);
    if (!(c.bytes[k] > (k ? c.bytes[k - 1] : 0))) lines[k].wrong("more than the one before it");
    if (!(c.traffic[k] >= 0)) misses[k].wrong("a number >= 0");
  }
  return c;
}

cost cost_of(json_field const& field) {
  cost c;
  c.flops = not_negative(field, "flops");
  c.accessed = not_negative(field, "bytes accessed");
  c.items = not_negative(field, "items");
  if (field.has("bytes scratch")) c.scratch = not_negative(field, "bytes scratch");
  if (field.has("bytes compulsory")) c.compulsory = not_negative(field, "bytes compulsory");
  if (field.has("flops minimal")) c.minimal_flops = not_negative(field, "flops minimal");
  auto const source = field.at("source", "\"counted\" or \"model\"");
  c.source = source.text("\"counted\" or \"model\"");
  if (c.source != "counted" && c.source != "model") source.wrong("\"counted\" or \"model\"");
  auto const memory = field.at("memory", "bytes of argument, output, temporary and peak");
  c.argument = not_negative(memory, "argument");
  c.output = not_negative(memory, "output");
  c.temporary = not_negative(memory, "temporary");
  c.peak = not_negative(memory, "peak");
  if (field.has("reuse")) c.curve = curve_of(field.at("reuse", ""));
  return c;
}

machine_specs machine_of(json_field const& ceilings) {
  machine_specs m;
  auto const best = [](json_field const& rates) {
    auto const field = rates.at("best", "a rate > 0");
    auto const rate = field.number("a rate > 0");
    if (!(rate > 0)) field.wrong("a rate > 0");
    return rate;
  };
  m.flops_per_second = 2 * best(ceilings.at("fma per second", "a rate"));
  for (auto const& level : ceilings.at("read", "levels of memory").elements("an array of levels"))
    m.reads.push_back({level.at("name", "the name of a level").text(), best(level.at("bytes per second", "a rate"))});
  if (m.reads.empty()) ceilings.at("read", "").wrong("at least one level");
  return m;
}

void read_times(json_field const& root, profile& p) {
  auto const times = operation_times(root);
  p.disturbed = disturbed_text(times);
  p.impossible = impossible_growths(times, root);
  for (auto const& t : times) {
    auto op =
        std::find_if(p.operations.begin(), p.operations.end(), [&](auto const& o) { return o.name == t.operation; });
    if (op == p.operations.end()) op = p.operations.insert(op, operation{t.operation, {}, {}});
    op->times[t.size] = {t};
  }
  // All operations failed, which is worth a report.
  if (p.operations.empty() && !root.at("errors", "an array of errors").value().empty()) return;
  if (p.operations.empty()) root.at("measurements", "").wrong("at least one untraced run");
}

index_t size_of(std::string const& key, json_field const& where) {
  index_t n = 0;
  auto const [end, code] = std::from_chars(key.data(), key.data() + key.size(), n);
  if (code != std::errc() || end != key.data() + key.size() || n < 1)
    where.wrong("a size as its name, not " + dump_text(key));
  return n;
}

/// No kernel adds faster than the FMA loop or loads faster than L1 is read, within 10 % noise. If one seems to, other
/// processes ran while the ceilings were measured. DRAM is not checked, because data that fit into a cache exceed its
/// rate.
void drop_disturbed_roofs(profile& p) {
  if (!p.roofs) return;
  for (auto const& op : p.operations)
    for (auto const& [n, c] : op.costs) {
      auto const t = op.times.find(n);
      if (t == op.times.end() || !t->second.trusted() || !(t->second.median > 0)) continue;
      bool const adds = c.flops / p.roofs->flops_per_second > 1.1 * t->second.median;
      if (!adds && !((c.accessed + c.scratch) / p.roofs->reads.front().bytes_per_second > 1.1 * t->second.median))
        continue;
      p.beaten = op.name + " at size " + std::to_string(n) +
                 (adds ? " calculates faster than the FMA loop did"
                       : " loads faster than " + p.roofs->reads.front().name + " was read");
      p.roofs.reset();
      return;
    }
}

}  // namespace

double miss_curve::knee(double factor) const {
  // Traffic of managed write-backs may rise again slightly, so the condition must hold for all following memories.
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    if (traffic[k] > factor * traffic.back()) continue;
    if (std::all_of(traffic.begin() + static_cast<std::ptrdiff_t>(k), traffic.end(),
                    [&](double t) { return t <= factor * traffic.back(); }))
      return bytes[k];
  }
  return bytes.back();
}

double miss_curve::at(double memory) const {
  auto const above = std::upper_bound(bytes.begin(), bytes.end(), memory);
  return traffic[static_cast<std::size_t>(std::max<std::ptrdiff_t>(above - bytes.begin(), 1) - 1)];
}

std::optional<double> operation::time_exponent() const {
  std::vector<std::pair<double, double>> points;
  for (auto const& [size, t] : times)
    if (t.trusted()) points.emplace_back(size, t.median);
  return mbirk::profile::growth_exponent(points);
}
std::optional<double> operation::flop_exponent() const {
  std::vector<std::pair<double, double>> points;
  for (auto const& [size, c] : costs) points.emplace_back(size, c.flops);
  return mbirk::profile::growth_exponent(points);
}

std::optional<nearest_roof> roof_of(std::optional<machine_specs> const& roofs, cost const& c, double seconds) {
  if (!roofs || !(seconds > 0)) return {};
  auto const &near = roofs->reads.front(), &far = roofs->reads.back();
  nearest_roof best{"arithmetic", c.flops / roofs->flops_per_second};
  if (auto const t = c.compulsory.value_or(0) / far.bytes_per_second; t > best.share) best = {far.name, t};
  if (auto const t = (c.accessed + c.scratch) / near.bytes_per_second; t > best.share)
    best = {"loads and stores (" + near.name + ")", t};
  best.share /= seconds;
  return best;
}

profile read_profile(nlohmann::json const& run, std::string const& file) {
  json_field const root(run, file);
  auto const expected = "a file of mbirk profile";
  profile p;
  p.file = file;
  p.timestamp = root.at("timestamp", expected).text();
  for (auto const& size : root.at("volume_sizes", expected).elements("an array of sizes"))
    p.sizes.push_back(size.integer());
  p.runs = root.at("runs_per_size", expected).integer();
  auto const environment = root.at("environment", expected);
  p.environment = flat(environment);
  p.backend = environment.at("backend", "a string").text();
  p.cpu = environment.at("cpu", "a string").text();
  p.version = environment.at("mbirk_version", "a string").text();
  p.compiler = environment.at("compiler", "a string").text();
  p.threads = environment.at("threads", "a whole number").integer();
  auto const devices = environment.at("devices", "an array of names").elements("an array of names");
  p.device = devices.empty() ? p.cpu : devices.front().text();
  for (auto const& e : root.at("errors", "an array of errors").elements("an array of errors"))
    p.failures.push_back({e.at("operation", "a string").text(), e.at("error", "a string").text(),
                          e.at("volume_size", "a whole number").integer()});
  read_times(root, p);
  for (auto const& [key, costs] : root.at("cost_analysis", expected).members()) {
    auto const n = size_of(key, root.at("cost_analysis", ""));
    for (auto const& [name, field] : costs.members()) {
      auto const op = std::find_if(p.operations.begin(), p.operations.end(),
                                   [&name = name](auto const& o) { return o.name == name; });
      if (op == p.operations.end()) field.wrong("costs of an operation that was measured");
      op->costs[n] = cost_of(field);
    }
  }
  std::map<index_t, std::size_t> timed, complete;
  for (auto const& op : p.operations)
    for (auto const& [n, t] : op.times) {
      ++timed[n];
      if (op.costs.contains(n)) ++complete[n];
    }
  p.largest = size_to_compare(complete.empty() ? timed : complete);
  if (root.has("dropped_trace_events")) {
    p.dropped.emplace();
    for (auto const& [key, field] : root.at("dropped_trace_events", "").members())
      (*p.dropped)[size_of(key, root.at("dropped_trace_events", ""))] = field.integer();
  }
  if (root.has("ceilings") && p.backend == "host") p.roofs = machine_of(root.at("ceilings", ""));
  drop_disturbed_roofs(p);
  return p;
}

}  // namespace mbirk::program::report
