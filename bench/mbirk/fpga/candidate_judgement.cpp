#include "fpga/candidate_judgement.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "fpga/candidate_costs.hpp"
#include "fpga/fpga_design.hpp"
#include "fpga/gpu_column.hpp"
#include "mbirk/profile/candidate_verdict.hpp"

namespace mbirk::program {

namespace pf = mbirk::profile::fpga;

/// JSON has no infinity; null means unbounded.
json finite(double x) { return std::isfinite(x) ? json(x) : json(nullptr); }
json to_json(pf::interval const& i) { return {finite(i.low), finite(i.nominal), finite(i.high)}; }
json to_json(pf::sourced const& s) {
  return {{"value", s.value}, {"mark", std::string(1, static_cast<char>(s.mark))}, {"source", s.source}};
}

namespace {

using program::to_json;

struct judged_target {
  json out;
  pf::verdict_class what;  ///< against the attainable time
  double saved, speed;     ///< seconds saved by a resident call; speed ratio; both against the attainable time
};

/// Times faster that a design has to be for a verdict against an opponent, with its data on the card.
double needed(pf::comparison const& c, pf::decision_rules const& r) {
  auto const over = [](double goal, double is) { return is > 0 ? goal / is : std::numeric_limits<double>::infinity(); };
  double const speed = over(r.speed_up.value, c.speed_resident.nominal),
               energy = std::max(over(r.energy_ratio.value, c.energy_resident.nominal),
                                 over(r.least_speed.value, c.speed_resident.nominal));
  return std::max(1.0, std::min(speed, energy));
}

judged_target judge(pf::counted_work const& w, access_mix const& access, opponent_time const& against,
                    pf::device const& d, pf::word const& in, double share, pf::decision_rules const& rules,
                    json const& synthesis) {
  auto const made = design_on(w, access, d, in, rules);
  auto const& [x, buffer, usable, modelled] = made;
  auto e = modelled;
  if (!synthesis.is_null()) {  // only the clock that place and route reaches is not certain
    e.kernel_seconds = synthesis["seconds"];
    e.kernel_log = std::log(rules.time.value);
    e.joules = d.watts.value * e.kernel_seconds;
    e.tax = e.transfer_seconds / (e.kernel_seconds + e.transfer_seconds);
    e.bounded_by = "synthesis";
  }
  pf::opponent const opponent{against.seconds.nominal, against.transfer_seconds, against.watts, against.idle_watts};
  auto const c = pf::compare(e, d, opponent, rules);
  auto v = pf::decide(x, e, c, opponent, share, rules);
  auto later = opponent;
  later.seconds = against.attainable;
  auto const tuned = pf::compare(e, d, later, rules);
  auto const tuned_verdict = pf::decide(x, e, tuned, later, share, rules);
  bool const holds = tuned_verdict.what == v.what;
  if (!against.plausible) v = {pf::verdict_class::none, "", false, {against.note}};
  if (against.plausible && against.attainable < opponent.seconds)
    v.reasons.push_back(fmt::format(
        "{} one at half of its roof ({:.3g} of {:.3g} s): {:.3g} times as fast with transfers, {:.3g} without",
        holds ? "the same against" : "only against the present implementation, not against", against.attainable,
        opponent.seconds, tuned.speed_alone.nominal, tuned.speed_resident.nominal));
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
      {"use",
       {{"dsp", e.dsp_share},
        {"lut", e.lut_share},
        {"bram", e.bram_share},
        {"uram", e.uram_share},
        {"ports", e.port_share}}},
      {"clock", d.clock.value},
      {"blocks",
       {{"dsp", e.dsp_share * d.dsp.value},
        {"lut", e.lut_share * d.lut.value},
        {"bram36", e.bram_share * d.bram36.value},
        {"uram", e.uram_share * d.uram.value}}},
      {"memory blocks",
       {{"buffer bram", e.buffer_bram},
        {"buffer uram", e.buffer_uram},
        {"interfaces bram", e.interface_bram},
        {"fifos bram", e.fifo_bram}}},
      {"access", {{"class", pf::name_of(access.dominant())}, {"efficiency", x.efficiency}}},
      {"against", against.device},
      {"times faster needed", finite(needed(c, rules))},
      {"rate", {{"compute", finite(e.compute)}, {"ports", finite(e.ports)}, {"memory", finite(e.memory)}}},
      {"bounded by", e.bounded_by},
      {"synthesised", synthesis.is_null() ? json(nullptr) : synthesis["synthesised"]},
      {"modelled seconds", modelled.kernel_seconds},
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
       {fmt::format("lanes = min({0} * {1} / {2:.4g} dsp, ({0} * {3} - {4:g}) / {5:.4g} lut, ({0} * {6} - {7:g}) / "
                    "{8:.4g} bram) = {9:.6g}",
                    pf::fabric::resource_share().value, d.dsp.value, x.lane.dsp, d.lut.value,
                    x.buffers * pf::fabric::interface_lut().value, x.lane.lut, d.bram36.value,
                    e.buffer_bram + e.interface_bram + e.fifo_bram, x.lane.bram, e.lanes),
        fmt::format("compute = {:.6g} lanes * {:.3g} Hz * {:g} / {} interval / {:.3g} stages = {:.4g} items/s", e.lanes,
                    d.clock.value, pf::fabric::pipeline_share().value, x.interval.value, x.stage_factor, e.compute),
        fmt::format("memory = {:.3g} {} * {:g} * {:.3g} B/s * {:.6g} items / {:.4g} B = {:.4g} items/s", x.efficiency,
                    pf::name_of(access.dominant()), d.memory_usable.value, d.memory_rate.value, x.items,
                    x.off_chip_bytes, e.memory),
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
  return {j, against.plausible ? tuned_verdict.what : v.what, later.seconds - e.kernel_seconds,
          tuned.speed_resident.nominal};
}

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
  for (auto const* key : {"target", "verdict", "for", "against"}) out[key] = nullptr;
  out["holds for attainable"] = false;
  out["speed-up"] = {{"measured", nullptr}, {"attainable", nullptr}};
  out["baseline"]["quality"] = out["baseline"]["limiter"] = nullptr;
  out["targets"] = json::array();
}
constexpr int withdrawn = static_cast<int>(pf::verdict_class::none) + 1;  // ranked last

/// All that the operation has to be compared with, the fastest first.
std::vector<opponent_time> opponents_of(judged_input const& in, pf::counted_work const& w, pf::baseline const& b) {
  auto const& machine = in.machine;
  std::vector<opponent_time> all;
  if (in.settings.against_host()) {
    opponent_time host{.device = machine.name,
                       .kind = machine.source == "data sheet" ? "gpu" : "host",
                       .seconds = {b.seconds, b.seconds, b.seconds},
                       .watts = machine.watts_for(in.time),
                       .idle_watts = machine.idle_watts,
                       .attainable = b.attainable,
                       .source = "measured",
                       .bound = b.limiter,
                       .plausible = b.plausible,
                       .note = b.note,
                       .disturbed = in.time.disturbed};
    if (in.time.range && in.time.range->low > 0) host.seconds = {in.time.range->low, b.seconds, in.time.range->high};
    if (machine.upload_rate > 0)
      host.transfer_seconds = (w.arguments + w.outputs) * machine.buffer_seconds +
                              w.argument_bytes / machine.upload_rate + w.output_bytes / machine.download_rate;
    all.push_back(host);
  }
  for (auto const& d : in.settings.devices)
    if (d.kind == pf::device_kind::gpu && in.settings.against_device(d.name))
      all.push_back(gpu_time_of(in.root, in.time.operation, in.time.size, d, w));
  std::stable_sort(all.begin(), all.end(),
                   [](auto const& x, auto const& y) { return x.seconds.nominal < y.seconds.nominal; });
  return all;
}

/// The uncertainty of an opponent's time as a factor.
pf::sourced uncertainty_of(opponent_time const& t, measured_operation_time const& measured,
                           pf::sourced const& assumed) {
  if (t.source == "measured") return uncertainty_of(measured, assumed);
  double const nominal = t.seconds.nominal;
  return {std::max(t.seconds.high / nominal, nominal / t.seconds.low), pf::mark::assumed, "time " + t.source};
}

json against_json(opponent_time const& t, json const& target) {
  auto out = to_json(t);
  for (auto const* key : {"speed-up alone", "speed-up resident", "energy ratio alone", "energy ratio resident",
                          "flips on", "confidence", "times faster needed", "bounded by", "access"})
    out[key] = target[key];
  out["target"] = target["target"];
  return out;
}

json columns_of(std::vector<opponent_time> const& opponents, json const& targets) {
  json columns{{"host", nullptr}, {"gpu", json::array()}, {"fpga", json::array()}};
  for (auto const& t : opponents) {
    auto one = to_json(t);
    if (!t.disturbed.empty()) one["disturbed"] = t.disturbed;
    if (t.kind == "host") columns["host"] = std::move(one);
    else columns["gpu"].push_back(std::move(one));
  }
  for (auto const& t : targets) {
    if (t["word"] == "fixed 16") continue;  // a what-if
    columns["fpga"].push_back({{"device", t["target"]},
                               {"kind", "fpga"},
                               {"word", t["word"]},
                               {"seconds", t["kernel seconds"]},
                               {"transfer seconds", t["transfer seconds"]},
                               {"joules", t["joules"]},
                               {"source", "modelled"},
                               {"bound", t["bounded by"]},
                               {"access", t["access"]["class"]}});
  }
  return columns;
}

}  // namespace

ranked_entry judge_operation(judged_input const& in) {
  auto const& [root, time, costs, cost, share, machine, word_length, traced, settings] = in;
  auto const& name = time.operation;
  auto const size = time.size;
  double const seconds = time.median;
  auto const w = work_of(cost);
  auto const b = pf::judge_baseline(w, machine.roofs, seconds);
  auto const access = access_mix_of(cost);
  auto const opponents = opponents_of(in, w, b);
  require(!opponents.empty(), [] { return std::string("nothing to compare with, expected a host or a GPU"); });
  auto const& against = opponents.front();
  auto const calls = calls_of(name, costs, settings.iterations);
  pf::decision_rules rules;
  rules.calls = calls;
  rules.time = uncertainty_of(against, time, rules.time);
  std::vector<pf::word> words{pf::f32, pf::fixed_16};
  if (word_length && word_length->at("within bound", "true or false").boolean()) {
    auto const width_of = [&](char const* of) {
      auto const width = word_length->at(of, "a format").at("width", "a number of bits");
      if (width.integer("a number of bits") < 1 || width.integer() > 64) width.wrong("1 to 64 bits");
      return static_cast<int>(width.integer());
    };
    words.push_back({width_of("arithmetic"), false, width_of("data")});
  }
  json targets = json::array();
  std::optional<judged_target> best;
  for (auto const& d : settings.devices) {
    if (d.kind != pf::device_kind::fpga) continue;
    for (auto const& bits : words) {
      // The export has the words that were measured.
      bool const exported = words.size() == 3 && &bits == &words.back();
      auto const key = name + ' ' + std::to_string(size) + ' ' + d.name;
      json const synthesis =
          exported && root.has("synthesis") ? root.at("synthesis", "").value().value(key, json()) : json();
      auto one =
          judge(w, access, against, d, bits, share.is_null() ? -1 : share["value"].get<double>(), rules, synthesis);
      targets.push_back(one.out);
      if ((bits.floating || !synthesis.is_null()) &&
          (!best || std::pair(one.what, -one.speed) < std::pair(best->what, -best->speed)))
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
           {"columns", columns_of(opponents, targets)},
           {"against", against_json(against, best->out)},
           {"targets", targets}};
  int const what = against.disturbed.empty() ? static_cast<int>(best->what) : withdrawn;
  if (what == withdrawn) withdraw(out, against.disturbed);
  return {out, size, name, what, best->saved, best->speed};
}

}  // namespace mbirk::program
