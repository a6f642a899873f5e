#include "gpu/prediction.hpp"

#include <algorithm>
#include <cmath>

#include "gpu/launches.hpp"
#include "mbirk/core/error.hpp"

namespace mbirk::program::gpu {
namespace {

/// Instructions per counted operation of a whole warp: 2.5 to 4.7 in the kernels whose code was compared.
constexpr double instructions_of_operation = 3.5;
/// Clocks from a load to its value if that is in L1.
constexpr double l1_latency = 35;

/// Cost of a launch: the sum over its units.
cost cost_of(launch_work const& work, kernel_code const& code) {
  auto const unit_of = [&](std::string const& variant, std::string const& name) {
    auto const units = code.units.find(variant);
    require(units != code.units.end() && units->second.contains(name), [&] {
      return "kernel_costs.json: kernel " + work.kernel + " has no unit '" + name + "' in variant '" + variant +
             "', expected a table made from this version's kernels";
    });
    return units->second.find(name)->second;
  };
  auto const unit = [&](std::string const& name) {
    cost each = (1 - work.last_share) * unit_of(work.variant, name);
    if (work.last_share > 0) each += work.last_share * unit_of(work.last_variant, name);
    return each;
  };
  cost total;
  for (auto const& [name, count] : work.units) {
    if (name == "request" || name == "store") {
      auto const loop = unit("loop");
      double const each = name == "store" && loop.stores > 0 ? loop.stores : loop.loads + loop.stores;
      total += (count / std::max(1.0, each)) * loop;
    } else if (name != "operation") {
      total += count * unit(name);
    }
  }
  // Kernels with more than one loop: at least what their operations take.
  for (auto const& [name, count] : work.units)
    if (name == "operation" && total.issue < instructions_of_operation * count) {
      total.issue = instructions_of_operation * count;
      total.clocks = std::max(total.clocks, 4 * total.issue);
    }
  return total;
}

/// Blocks of a kernel that fit a multiprocessor side by side.
double resident_blocks(kernel_code const& code, int warps, device const& on) {
  double const registers_of_warp = std::ceil(std::max(1, code.registers) * 32 / 256.0) * 256;
  double const by_registers = std::floor(on["registers"] / (registers_of_warp * warps)),
               by_shared = std::floor(on["shared bytes"] / (code.shared_bytes + 1024.0)),
               by_warps = std::floor(on["resident warps"] / warps);
  return std::max(1.0, std::min({by_registers, by_shared, by_warps, 32.0}));
}

/// How a launch spreads over the device.
struct occupation {
  double warps;     ///< launched
  double blocks;
  double capacity;  ///< blocks that run at the same time
  double active;    ///< multiprocessors that have a block
};
occupation occupy(launch_work const& work, kernel_code const& code, device const& on) {
  double const most = on["multiprocessors"], capacity = most * resident_blocks(code, work.warps_per_block, on);
  double warps = work.tasks * work.warps_per_block;
  if (work.shares_tasks) warps = std::min(work.tasks, capacity * work.warps_per_block);
  double const blocks = std::max(1.0, std::ceil(warps / work.warps_per_block));
  return {std::max(1.0, warps), blocks, capacity, std::min(most, blocks)};
}

/// Bytes between L2 and memory. Repeated reads come from memory again unless they fit L2, once for all tasks that
/// run at the same time.
double memory_traffic(launch_work const& work, occupation const& o, device const& on) {
  if (work.again_bytes <= on["L2 bytes"]) return work.memory_bytes + work.again_bytes;
  double const in_flight = std::min(o.blocks, o.capacity) * (work.shares_tasks ? work.warps_per_block : 1);
  double const readings = std::max(1.0, work.tasks / std::max(in_flight, work.tasks_between));
  return work.memory_bytes + work.again_bytes * readings;
}

}  // namespace

launch_time predict_launch(launch_work const& work, device const& on) {
  auto const* const code = find_kernel(work.kernel, on.capability);
  require(code != nullptr, [&] {
    return "kernel_costs.json: there is no kernel " + work.kernel + " for compute capability " +
           std::to_string(on.capability) + ", expected a table made from this version's kernels";
  });
  cost const total = cost_of(work, *code);
  auto const o = occupy(work, *code, on);
  double const clock = on["clock"], rate = o.active * clock;
  double const memory = memory_traffic(work, o, on);
  double const from_memory = work.l2_bytes > 0 ? std::min(1.0, memory / work.l2_bytes) : 1;
  // Bytes that L2 does not deliver come from L1.
  double const beyond_l1 = total.loads > 0 ? std::min(1.0, work.l2_bytes / (128 * total.loads)) : 1;
  double const l2_wait = on["L2 latency clocks"],
               further = l2_wait + from_memory * (on["memory latency clocks"] - l2_wait);
  double const wait = l1_latency + beyond_l1 * (further - l1_latency);
  double const alone = (total.clocks + total.rounds * wait) / o.warps / clock;  // a warp from its start to its end

  launch_time t{.kernel = work.kernel, .bound = {}, .waves = o.blocks / o.capacity, .resources = {}};
  t.resources = {{"issue", total.issue / (on["instructions per clock"] * rate)},
                 {"FMA", total.fma / (on["fma per clock"] * rate)},
                 {"integer", total.integer / (on["integer per clock"] * rate)},
                 {"FP64", total.fp64 / (on["fp64 per clock"] * rate)},
                 {"special", total.special / (on["special per clock"] * rate)},
                 {"LSU", total.wavefronts / (on["wavefronts per clock"] * rate)},
                 {"L2", work.l2_bytes / on["L2 bytes per second"]},
                 {"DRAM", memory / on["memory bytes per second"]},
                 {"latency", alone * std::max(1.0, t.waves)},
                 {"launch", on["launch seconds"]}};
  auto const& largest = *std::ranges::max_element(t.resources, {}, [](auto const& r) { return r.second; });
  t.bound = largest.first;
  double const bound = largest.second;
  // Code reaches a part of a rate. Latencies are those of an idle device, not of the best case.
  double busy = 0;
  for (auto const& [name, seconds] : t.resources)
    busy = std::max(busy, name == "latency" ? seconds : seconds / reached);
  // Blocks beyond the last full wave run on a nearly empty device: not faster than a warp alone.
  double const full = std::floor(t.waves), rest = t.waves - full;
  double expected = busy;
  if (full >= 1 && rest > 0) {
    double const left = rest * o.capacity, spread = std::max(1.0, on["multiprocessors"] / std::max(1.0, left));
    expected = busy * full / t.waves + std::max(busy * rest / t.waves * spread, alone);
  }
  t.lower_bound = work.repeats * bound;
  t.expected = work.repeats * std::max(expected, on["launch seconds"]);
  for (auto& r : t.resources) r.second *= work.repeats;
  return t;
}

prediction predict_launches(std::vector<launch_work> const& work, device const& on, double argument_bytes,
                            double result_bytes) {
  prediction p;
  double most = 0;
  for (auto const& w : work) {
    auto t = predict_launch(w, on);
    p.lower_bound += t.lower_bound;
    p.expected += t.expected;
    if (t.expected > most) {
      most = t.expected;
      p.bound = t.bound;
    }
    p.launches.push_back(std::move(t));
  }
  p.low = low_factor * p.expected;
  p.high = high_factor * p.expected;
  p.transfer_seconds = argument_bytes / on["upload bytes per second"] + result_bytes / on["download bytes per second"];
  if (argument_bytes > 0) p.transfer_seconds += on["buffer seconds"];
  if (result_bytes > 0) p.transfer_seconds += on["buffer seconds"];
  p.joules = on["watts"] * p.expected;
  return p;
}

}  // namespace mbirk::program::gpu
