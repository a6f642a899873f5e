#include "fpga/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "fpga/fpga_design.hpp"
#include "fpga/gpu_column.hpp"
#include "fpga/plan_text.hpp"
#include "fpga/stage_groups.hpp"

namespace mbirk::program {
namespace {

namespace pf = mbirk::profile::fpga;

json finite(double x) { return std::isfinite(x) ? json(x) : json(nullptr); }
json list_of(pf::interval const& i) { return {finite(i.low), finite(i.nominal), finite(i.high)}; }

/// Whole reconstructions of one geometry on one device.
struct whole_on {
  std::string device, kind, source;
  pf::interval seconds;
  double transfer_seconds = 0, watts = 0, idle_watts = 0;
  std::vector<pf::interval> groups;  ///< seconds of each

  double joules() const { return watts * seconds.nominal + idle_watts * transfer_seconds; }
};
json to_json(whole_on const& w) {
  return {{"device", w.device},
          {"kind", w.kind},
          {"seconds", list_of(w.seconds)},
          {"transfer seconds", w.transfer_seconds},
          {"joules", w.watts > 0 ? json(w.joules()) : json(nullptr)},
          {"source", w.source}};
}

/// A kind of stages with its counted work.
struct group_work {
  std::string name;
  double seconds = 0, share = 0;  ///< on the host
  double runs = 0;
  pf::counted_work work;
  access_mix access;
};

/// What an FPGA would do for one group beside the best device.
struct beside {
  std::string device, bounded_by, flips_on, access;
  double kernel = 0, transfer = 0, joules = 0;
  pf::interval speed, energy;
  double needed = 0, share = 0, amdahl = 1;
  bool pays = false;
};

pf::counted_work reconstruction_transfers(json_field const& recon) {
  pf::counted_work w;
  auto const t = recon.at("transfers", "an object");
  w.argument_bytes = count_of(t, "bytes in");
  w.output_bytes = count_of(t, "bytes out");
  w.arguments = static_cast<int>(count_of(t, "buffers"));
  return w;
}
double transfer_seconds(pf::device const& d, pf::counted_work const& w) {
  auto const over = [](double bytes, double rate) { return rate > 0 ? bytes / rate : 0; };
  return (w.arguments + w.outputs) * d.buffer_seconds.value + over(w.argument_bytes, d.upload_rate.value) +
         over(w.output_bytes, d.download_rate.value);
}

/// Seconds of a group on a GPU: scaled from its operation by flops if there is more than arithmetic on counts for it.
opponent_time group_on_gpu(json_field const& root, std::string const& geometry, index_t size, group_work const& group,
                           pf::device const& gpu) {
  auto const size_text = std::to_string(size);
  auto const costs = root.at("cost_analysis", "an object by size");
  for (auto const& known : stage_groups()) {
    if (known.name != group.name || !costs.has(size_text)) continue;
    for (auto const& operation : known.operations) {
      auto const name = geometry + '_' + operation;
      if (!costs.at(size_text, "").has(name)) continue;
      auto const w = work_of(costs.at(size_text, "").at(name, ""));
      auto t = gpu_time_of(root, name, size, gpu, w);
      if (t.source == estimated || !(w.flops() > 0)) continue;
      double const scale = group.work.flops() / w.flops(), launch = gpu.launch_seconds.value;
      auto const scaled = [&](double s) {
        return scale * std::max(0.0, s - w.launches * launch) + group.work.launches * launch;
      };
      t.seconds = {scaled(t.seconds.low), scaled(t.seconds.nominal), scaled(t.seconds.high)};
      return t;
    }
  }
  return estimated_on(gpu, group.work);
}

whole_on on_gpu(json_field const& root, std::string const& geometry, index_t size,
                std::vector<group_work> const& groups, pf::counted_work const& transfers, pf::device const& gpu) {
  whole_on w{gpu.name, "gpu", "", {}, transfer_seconds(gpu, transfers), gpu.watts.value, gpu.idle_watts.value, {}};
  for (auto const& group : groups) {
    auto const t = group_on_gpu(root, geometry, size, group, gpu);
    w.groups.push_back(t.seconds);
    w.seconds.low += t.seconds.low;
    w.seconds.nominal += t.seconds.nominal;
    w.seconds.high += t.seconds.high;
    if (w.source.empty() || (t.source != estimated && w.source == estimated)) w.source = t.source;
    else if (w.source != t.source && t.source == estimated)
      w.source += w.source.ends_with("estimated") ? "" : ", rest estimated";
  }
  return w;
}

/// All groups on one FPGA: their units share it, and they work in turn.
whole_on on_fpga(std::vector<group_work> const& groups, pf::counted_work const& transfers, pf::device const& d) {
  whole_on w{d.name, "fpga", "modelled", {}, transfer_seconds(d, transfers), d.watts.value, d.idle_watts.value, {}};
  double roots = 0, factor = 0;
  for (auto const& group : groups) {
    auto const e = design_on(group.work, group.access, d, pf::f32).estimate;
    w.groups.push_back(pf::around(e.kernel_seconds, e.kernel_log));
    roots += std::sqrt(e.kernel_seconds);
    factor = std::max(factor, e.kernel_log);
  }
  w.seconds = pf::around(roots * roots, factor);
  return w;
}

/// An FPGA for one group, the rest on the best device: what the group reads and writes crosses the link in every run.
beside fpga_beside(group_work const& group, std::size_t k, whole_on const& best, pf::device const& d) {
  pf::decision_rules const r;
  auto const e = design_on(group.work, group.access, d, pf::f32, r).estimate;
  auto const& seconds = best.groups[k];
  beside b;
  b.device = d.name;
  b.bounded_by = e.bounded_by;
  b.access = pf::name_of(group.access.dominant());
  double const link = std::min(d.upload_rate.value, d.download_rate.value);
  b.kernel = e.kernel_seconds;
  b.transfer = link > 0 ? group.runs * 2 * d.buffer_seconds.value + group.work.bytes_compulsory / link : 0;
  double const both = b.kernel + b.transfer, t = seconds.nominal;
  b.joules = d.watts.value * b.kernel + d.idle_watts.value * b.transfer;
  double const of_time = seconds.low > 0 ? std::log(std::max(seconds.high / t, t / seconds.low)) : 0,
               of_kernel = std::log((std::exp(e.kernel_log) * b.kernel + b.transfer) / both),
               of_link = std::log((b.kernel + r.link.value * b.transfer) / both);
  b.speed = pf::around(t / both, pf::together(of_time, of_kernel, of_link));
  b.energy = pf::around(best.watts * t / b.joules, pf::together(of_time, of_kernel, of_link, std::log(r.power.value)));
  b.flips_on = of_link > of_kernel && of_link > of_time ? "the link"
               : of_kernel > of_time ? e.bounded_by == "memory" ? "usable bandwidth" : "lanes and clock"
                                     : "the time on " + best.device;
  b.share = best.seconds.nominal > 0 ? t / best.seconds.nominal : 0;
  b.amdahl = 1 / (1 - b.share + b.share / b.speed.nominal);
  // How much faster the kernel alone has to be for 1.5 times the speed; never, if the link takes longer.
  double const room = t / r.speed_up.value - b.transfer;
  b.needed = room > 0 ? std::max(1.0, b.kernel / room) : std::numeric_limits<double>::infinity();
  bool const fast = b.speed.nominal >= r.speed_up.value && b.speed.low >= 1,
             frugal = b.speed.nominal >= r.least_speed.value && b.energy.nominal >= r.energy_ratio.value &&
                      b.energy.low >= r.energy_low.value;
  b.pays = b.share >= r.least_share.value && (fast || frugal);
  return b;
}
json to_json(beside const& b) {
  return {{"target", b.device},
          {"kernel seconds", b.kernel},
          {"transfer seconds", b.transfer},
          {"joules", b.joules},
          {"speed-up", list_of(b.speed)},
          {"energy ratio", list_of(b.energy)},
          {"share", b.share},
          {"reconstruction faster", b.amdahl},
          {"times faster needed", finite(b.needed)},
          {"bounded by", b.bounded_by},
          {"access", b.access},
          {"flips on", b.flips_on},
          {"pays", b.pays}};
}

json plan_of(json_field const& root, std::string const& name, json_field const& recon, measured_machine const& machine,
             candidate_settings const& settings) {
  auto const geometry = name.substr(0, name.find('_'));
  auto const size = recon.at("size", "a whole number").integer();
  std::vector<group_work> groups;
  for (auto const& g : recon.at("groups", "an array of groups").elements()) {
    auto const cost = g.at("cost", "an object");
    groups.push_back({g.at("group", "a name").text(), count_or_0(g, "seconds"), count_or_0(g, "share"),
                      count_of(g, "runs"), work_of(cost), access_mix_of(cost)});
  }
  auto const transfers = reconstruction_transfers(recon);
  double const measured = count_of(recon, "seconds");
  std::vector<whole_on> opponents;
  if (settings.against_host()) {
    whole_on host{machine.name,
                  machine.source == "data sheet" ? "gpu" : "host",
                  "measured",
                  {measured, measured, measured},
                  0,
                  machine.watts,
                  machine.idle_watts,
                  {}};
    for (auto const& g : groups) host.groups.push_back({g.seconds, g.seconds, g.seconds});
    opponents.push_back(host);
  }
  std::vector<whole_on> fpgas;
  for (auto const& d : settings.devices) {
    if (d.kind == pf::device_kind::gpu && settings.against_device(d.name))
      opponents.push_back(on_gpu(root, geometry, size, groups, transfers, d));
    if (d.kind == pf::device_kind::fpga) fpgas.push_back(on_fpga(groups, transfers, d));
  }
  auto const faster = [](whole_on const& a, whole_on const& b) {
    return a.seconds.nominal + a.transfer_seconds < b.seconds.nominal + b.transfer_seconds;
  };
  std::stable_sort(opponents.begin(), opponents.end(), faster);
  std::stable_sort(fpgas.begin(), fpgas.end(), faster);
  auto const& best = opponents.front();
  json out{{"operation", name},
           {"size", size},
           {"iterations", recon.at("iterations", "a whole number").value()},
           {"best", best.device},
           {"columns", json::array()},
           {"groups", json::array()}};
  for (auto const* list : {&opponents, &fpgas})
    for (auto const& one : *list) out["columns"].push_back(to_json(one));
  double left = 1, gained = 0;
  json set = json::array();
  for (std::size_t k = 0; k < groups.size(); ++k) {
    std::optional<beside> chosen;
    for (auto const& d : settings.devices) {
      if (d.kind != pf::device_kind::fpga || !(groups[k].work.flops() > 0) || !(best.groups[k].nominal > 0)) continue;
      auto one = fpga_beside(groups[k], k, best, d);
      if (!chosen || one.speed.nominal > chosen->speed.nominal) chosen = std::move(one);
    }
    json group{{"group", groups[k].name},
               {"host seconds", groups[k].seconds},
               {"host share", groups[k].share},
               {"seconds", list_of(best.groups[k])},
               {"fpga", chosen ? to_json(*chosen) : json(nullptr)}};
    out["groups"].push_back(std::move(group));
    if (chosen && chosen->pays && k + 1 < groups.size()) {  // the rest is no unit
      set.push_back(groups[k].name);
      left -= chosen->share;
      gained += chosen->share / chosen->speed.nominal;
    }
  }
  out["best set"] = {{"groups", set}, {"reconstruction faster", 1 / (left + gained)}};
  if (!fpgas.empty()) {
    auto const& whole = fpgas.front();
    double const log = std::log(std::max(best.seconds.high / best.seconds.nominal, 1.0)),
                 own = std::log(whole.seconds.high / whole.seconds.nominal),
                 here = best.seconds.nominal + best.transfer_seconds,
                 there = whole.seconds.nominal + whole.transfer_seconds;
    pf::decision_rules const r;
    auto const speed = pf::around(here / there, pf::together(log, own));
    double const energy = whole.joules() > 0 ? best.joules() / whole.joules() : 0;
    bool const frugal = speed.nominal >= r.least_speed.value && energy >= r.energy_ratio.value &&
                        energy / r.power.value * speed.low / speed.nominal >= r.energy_low.value;
    out["fpga alone"] = {{"pays", (speed.nominal >= r.speed_up.value && speed.low >= 1) || frugal},
                         {"for", speed.nominal >= r.speed_up.value && speed.low >= 1 ? "speed" : "energy"},
                         {"target", whole.device},
                         {"speed-up", list_of(pf::around(here / there, pf::together(log, own)))},
                         {"energy ratio", whole.joules() > 0 ? json(best.joules() / whole.joules()) : json(nullptr)}};
  }
  return out;
}

}  // namespace

json plan_json(json_field const& root, measured_machine const& machine, candidate_settings const& settings,
               json const& operations) {
  json plan{{"reconstructions", json::array()}};
  if (root.has("reconstructions"))
    for (auto const& [name, recon] : root.at("reconstructions", "an object by operation").members())
      if (recon.has("groups") && recon.has("stages"))
        plan["reconstructions"].push_back(plan_of(root, name, recon, machine, settings));
  // The longest first.
  std::stable_sort(plan["reconstructions"].begin(), plan["reconstructions"].end(), [](json const& a, json const& b) {
    return a["columns"][0]["seconds"][1].get<double>() > b["columns"][0]["seconds"][1].get<double>();
  });
  add_plan_text(plan, operations);
  return plan;
}

}  // namespace mbirk::program
