#include "fpga/candidates.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "fpga/candidate_costs.hpp"
#include "fpga/candidate_pipelines.hpp"
#include "mbirk/profile/candidate_verdict.hpp"

namespace mbirk::program {
namespace {

namespace pf = mbirk::profile::fpga;

/// JSON has no infinity; null means unbounded.
json finite(double x) { return std::isfinite(x) ? json(x) : json(nullptr); }
json to_json(pf::interval const& i) { return {finite(i.low), finite(i.nominal), finite(i.high)}; }
json to_json(pf::sourced const& s) {
  return {{"value", s.value}, {"mark", std::string(1, static_cast<char>(s.mark))}, {"source", s.source}};
}

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

struct judged_target {
  json out;
  pf::verdict_class what;  ///< against the attainable time
  double saved, speed;     ///< seconds saved by a resident call; speed ratio; both against the attainable time
};

judged_target judge(pf::counted_work const& w, pf::baseline const& b, pf::opponent opponent, pf::device const& d,
                    pf::word const& in, double share, pf::decision_rules const& rules) {
  pf::design x{.items = w.items, .lane = cost_of_lane(w, d, in), .in = in};
  double const usable = pf::fabric::resource_share().value * (d.bram36.value * 36 + d.uram.value * 288) * 1024 / 8;
  std::optional<pf::buffer_choice> const buffer = pf::choose_buffer(w.misses, usable, in.memory_bits);
  x.off_chip_bytes = buffer ? buffer->traffic : w.bytes_compulsory * in.memory_bits / 32;
  x.words_per_item = w.items > 0 ? w.bytes_accessed / 4 / w.items : 0;
  // The host has float32.
  x.upload_bytes = w.argument_bytes;
  x.download_bytes = w.output_bytes;
  x.buffers = w.arguments + w.outputs;
  x.barriers = std::max(0.0, w.launches - 1);
  x.stage_factor = w.stage_factor;
  x.interval = pf::interval_of(w, in, pf::estimate_on(d, x, rules).lanes);
  auto e = pf::estimate_on(d, x, rules);
  e.joules_floor = pf::energy_floor(w, x.off_chip_bytes, in);
  auto const c = pf::compare(e, d, opponent, rules);
  auto v = pf::decide(x, e, c, opponent, share, rules);
  auto later = opponent;
  later.seconds = b.attainable;
  auto const tuned = pf::compare(e, d, later, rules);
  auto const tuned_verdict = pf::decide(x, e, tuned, later, share, rules);
  bool const holds = tuned_verdict.what == v.what;
  if (!b.plausible) v = {pf::verdict_class::none, "", false, {b.note}};
  if (b.plausible && b.attainable < b.seconds)
    v.reasons.push_back(fmt::format(
        "{} one at half of its roof ({:.3g} of {:.3g} s): {:.3g} times as fast with transfers, {:.3g} without",
        holds ? "the same against" : "only against the present implementation, not against", b.attainable, b.seconds,
        tuned.speed_alone.nominal, tuned.speed_resident.nominal));
  if (w.misses.empty())
    v.reasons.push_back("reuse was not counted at this size: the memory is charged with compulsory bytes only");
  if (e.joules < e.joules_floor)
    v.reasons.push_back("the assumed power is below what operations and bytes alone take: the energy is wrong");
  json const j{
      {"target", d.name},
      {"word", in.name()},
      {"buffer", buffer ? json{{"bytes", buffer->bytes},
                               {"traffic", buffer->traffic},
                               {"usable bytes", usable},
                               {"at knee", buffer->at_knee}}
                        : json(nullptr)},
      {"initiation interval", {{"value", x.interval.value}, {"cause", x.interval.cause}}},
      {"lane", {{"dsp", x.lane.dsp}, {"lut", x.lane.lut}, {"bram", x.lane.bram}}},
      {"lanes", finite(e.lanes)},
      {"stage factor", x.stage_factor},
      {"use", {{"dsp", e.dsp_share}, {"lut", e.lut_share}, {"bram", e.bram_share}, {"ports", e.port_share}}},
      {"rate", {{"compute", finite(e.compute)}, {"ports", finite(e.ports)}, {"memory", finite(e.memory)}}},
      {"bounded by", e.bounded_by},
      {"kernel seconds", to_json(pf::around(e.kernel_seconds, e.kernel_log))},
      {"transfer seconds", e.transfer_seconds},
      {"tax", e.tax},
      {"speed-up alone", to_json(c.speed_alone)},
      {"speed-up resident", to_json(c.speed_resident)},
      {"energy ratio alone", to_json(c.energy_alone)},
      {"energy ratio resident", to_json(c.energy_resident)},
      {"joules", e.joules},
      {"joules floor", e.joules_floor},
      {"baseline joules", opponent.watts * opponent.seconds},
      {"break-even calls", c.break_even >= 0 ? json(std::max(1.0, std::ceil(c.break_even))) : json(nullptr)},
      {"verdict", name_of(v.what)},
      {"for", v.goal.empty() ? json(nullptr) : json(v.goal)},
      {"holds for attainable", holds},
      {"confidence", v.firm ? "firm" : "open: " + c.flips_on},
      {"flips on", c.flips_on},
      {"reasons", v.reasons},
      {"formulas",
       {fmt::format("lanes = min({0} * {1} / {2:.4g} dsp, {0} * {3} / {4:.4g} lut, {0} * {5} / {6:.4g} bram) = {7:.6g}",
                    pf::fabric::resource_share().value, d.dsp.value, x.lane.dsp, d.lut.value, x.lane.lut,
                    d.bram36.value, x.lane.bram, e.lanes),
        fmt::format("compute = {:.6g} lanes * {:.3g} Hz * {:g} / {} interval / {:.3g} stages = {:.4g} items/s", e.lanes,
                    d.clock.value, pf::fabric::pipeline_share().value, x.interval.value, x.stage_factor, e.compute),
        fmt::format("memory = {:g} * {:.3g} B/s * {:.6g} items / {:.4g} B = {:.4g} items/s", d.memory_usable.value,
                    d.memory_rate.value, x.items, x.off_chip_bytes, e.memory),
        fmt::format("T_k = {:.2g} s + {:.0f} fills * {:g} / {:.3g} Hz + {:.6g} items / {:.4g} = {:.4g} s",
                    d.launch_seconds.value, 1 + x.barriers, pf::fabric::depth_clocks().value, d.clock.value, x.items,
                    e.rate, e.kernel_seconds),
        fmt::format("T_x = {} buffers * {:.2g} s + {:.4g} B / {:.3g} + {:.4g} B / {:.3g} = {:.4g} s", x.buffers,
                    d.buffer_seconds.value, x.upload_bytes, d.upload_rate.value, x.download_bytes,
                    d.download_rate.value, e.transfer_seconds),
        fmt::format("S alone = ({:.4g} + {:.4g} s) / (T_k + T_x) = {:.3g}; S resident = {:.4g} s / T_k = {:.3g}",
                    opponent.seconds, opponent.transfer_seconds, c.speed_alone.nominal, opponent.seconds,
                    c.speed_resident.nominal),
        fmt::format("E resident = {:g} W * {:.4g} s / ({:g} W * T_k) = {:.3g}", opponent.watts, opponent.seconds,
                    d.watts.value, c.energy_resident.nominal)}}};
  return {j, b.plausible ? tuned_verdict.what : v.what, later.seconds - e.kernel_seconds, tuned.speed_resident.nominal};
}

/// An entry with its ranking against the attainable time: class, then seconds saved by a resident call, or its speed if
/// it is not a candidate.
struct ranked_entry {
  json out;
  index_t size;
  std::string name;
  int what;
  double saved, speed;
};

/// Uncertainty of the time: its interval if that is wider than the rules assume.
pf::sourced uncertainty_of(measured_operation_time const& t, pf::sourced const& assumed) {
  if (!t.range || !(t.range->low > 0)) return assumed;
  double const factor = std::max(t.range->high / t.median, t.median / t.range->low);
  return factor > assumed.value ? pf::sourced{factor, pf::mark::measured, "the 95 % interval of the median"} : assumed;
}

/// Removes from an entry everything that depends on a disturbed time.
void withdraw(json& out, std::string const& reason) {
  out["disturbed"] = true;
  out["reason"] = "disturbed: " + reason;
  for (auto const* key : {"target", "verdict", "for"}) out[key] = nullptr;
  out["holds for attainable"] = false;
  out["speed-up"] = {{"measured", nullptr}, {"attainable", nullptr}};
  out["baseline"]["quality"] = out["baseline"]["limiter"] = nullptr;
  out["targets"] = json::array();
}
constexpr int withdrawn = static_cast<int>(pf::verdict_class::none) + 1;  // ranked last

ranked_entry judge_operation(measured_operation_time const& time, json_field const& costs, json_field const& cost,
                             json const& share, measured_machine const& machine,
                             std::optional<json_field> const& word_length, traced_stages const* traced,
                             candidate_settings const& settings) {
  auto const& name = time.operation;
  auto const size = time.size;
  double const seconds = time.median;
  auto const w = work_of(cost);
  auto const b = pf::judge_baseline(w, machine.roofs, seconds);
  pf::opponent opponent{.seconds = seconds, .watts = machine.watts, .idle_watts = machine.idle_watts};
  if (machine.upload_rate > 0)
    opponent.transfer_seconds = (w.arguments + w.outputs) * machine.buffer_seconds +
                                w.argument_bytes / machine.upload_rate + w.output_bytes / machine.download_rate;
  auto const calls = calls_of(name, costs, settings.iterations);
  pf::decision_rules rules;
  rules.calls = calls;
  rules.time = uncertainty_of(time, rules.time);
  std::vector<pf::word> words{pf::f32, pf::fixed_16};
  if (word_length && word_length->at("within bound", "true or false").boolean()) {
    auto const bits = [&](char const* of) {
      auto const width = word_length->at(of, "a format").at("width", "a number of bits");
      if (width.integer("a number of bits") < 1 || width.integer() > 64) width.wrong("1 to 64 bits");
      return static_cast<int>(width.integer());
    };
    words.push_back({bits("arithmetic"), false, bits("data")});
  }
  json targets = json::array();
  std::optional<judged_target> best;
  for (auto const& d : settings.devices) {
    if (d.kind != pf::device_kind::fpga) continue;
    for (auto const& in : words) {
      auto one = judge(w, b, opponent, d, in, share.is_null() ? -1 : share["value"].get<double>(), rules);
      targets.push_back(one.out);
      if (in.floating && (!best || std::pair(one.what, -one.speed) < std::pair(best->what, -best->speed)))
        best = std::move(one);
    }
  }
  json roofs = json::object(), misses = nullptr, flat = json::array();
  for (auto const& r : b.roofs) roofs[r.name] = r.seconds;
  for (auto const& p : pf::plateaus(w.misses)) flat.push_back({{"bytes", p.bytes}, {"traffic", p.traffic}});
  if (!w.misses.empty())
    misses = {{"source", "LRU, kernel's order on one thread, all arrays with scratch"},
              {"floor", w.misses.floor()},
              {"plateaus", flat}};
  json out{{"operation", name},
           {"size", size},
           {"target", best->out["target"]},
           {"verdict", best->out["verdict"]},
           {"for", best->out["for"]},
           {"reason", best->out["reasons"][0]},
           {"holds for attainable", best->out["holds for attainable"]},
           {"speed-up", {{"measured", best->out["speed-up resident"][1]}, {"attainable", best->speed}}},
           {"baseline",
            {{"seconds", seconds},
             {"limiter", b.limiter},
             {"ceilings", roofs},
             {"quality", b.roofs.empty() ? json(nullptr) : json(b.quality)},
             {"attainable seconds", b.attainable},
             {"note", b.note}}},
           {"share", share},
           {"intensity", intensity_of(w, machine.roofs)},
           {"access", access_of(cost, w)},
           {"misses", misses},
           {"values", values_of(cost)},
           {"word length", word_length ? word_length->value() : json("not measured")},
           {"calls per transfer", to_json(calls)},
           {"stages", stages_of(cost, machine.roofs, traced)},
           {"optimal seconds", optimal_seconds(w, settings.devices)},
           {"targets", targets}};
  int const what = time.disturbed.empty() ? static_cast<int>(best->what) : withdrawn;
  if (what == withdrawn) withdraw(out, time.disturbed);
  return {out, size, name, what, best->saved, best->speed};
}

}  // namespace

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
  out["baseline"] = {{"device", machine.name}, {"source", machine.source}, {"watts", machine.watts}};
  out["notes"] = {
      "counts are those of the host's kernels; reuse is that of their order of loops, which is part of the "
      "recommendation",
      "float32 decides; fixed 16 is a what-if; other fixed words were measured at a small size, where they keep a "
      "bound",
      fmt::format("in a resident pipeline arrays are sent once for {} iterations of a reconstruction",
                  settings.iterations),
      "the watts of a host are assumed"};
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
    all.push_back(
        judge_operation(time, costs, cost, share_of(name, costs, machine.roofs), machine, words, traced, settings));
    if (!name.ends_with("_mbir_recon") || !traced || !traced->by_path.contains("iteration")) continue;
    if (json const iteration = iteration_cost(cost); !iteration.is_null()) {
      double const share = traced->by_path.at("iteration").seconds / traced->seconds;
      traced_stages inside{traced->by_path.at("iteration").seconds, {}};
      for (auto const& [path, stage] : traced->by_path)
        if (path.starts_with("iteration/")) inside.by_path[path] = stage;
      auto const what = name.substr(0, name.size() - std::string("mbir_recon").size()) + "vcd_iteration";
      auto inner = time;
      inner.operation = what;
      inner.median *= share;
      if (inner.range) inner.range = {share * inner.range->low, share * inner.range->high, inner.range->coverage};
      all.push_back(judge_operation(inner, costs, json_field(iteration, file, what),
                                    {{"of", name}, {"value", share}, {"source", "the traced run"}}, machine, {},
                                    &inside, settings));
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
  return out;
}

void print_candidates(json const& candidates) {
  if (candidates.contains("skipped") || candidates["operations"].empty()) return;
  long largest = 0;
  for (auto const& o : candidates["operations"]) largest = std::max(largest, o["size"].get<long>());
  fmt::print(
      "\nFPGA candidates at {}^3, against the times of {}, arrays sent once for {} iterations (model and assumptions: "
      "docs/fpga.md)\n",
      largest, candidates["baseline"]["device"].get<std::string>(),
      candidates["model"]["rules"]["iterations per transfer"]["value"].get<double>());
  for (auto const& o : candidates["operations"]) {
    if (o["size"] != largest || o["rank"] > 5) continue;
    auto const text = [&](char const* key) { return o[key].get<std::string>(); };
    if (o["verdict"].is_null()) {
      fmt::print("{:>4}. {:<32} {}\n", o["rank"].get<int>(), text("operation"), text("reason"));
      continue;
    }
    fmt::print("{:>4}. {:<32} {:<14} {}: {}{}\n", o["rank"].get<int>(), text("operation"), text("target"),
               text("verdict"), text("reason"),
               o["holds for attainable"].get<bool>() ? "" : " (only against the present implementation)");
  }
}

}  // namespace mbirk::program
