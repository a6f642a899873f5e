// Decides whether an operation deserves an FPGA: what limits it now, what a device would need, time and energy there,
// and a verdict with reasons. Pure functions of counts, times and device data; see docs/fpga.md for the formulas.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/core/error.hpp"
#include "mbirk/profile/device_data.hpp"

namespace mbirk::profile::fpga {

/// Traffic below memories of several sizes, in ascending order: 64 bytes x (read misses + write-backs) of an LRU
/// memory.
struct miss_curve {
  std::vector<double> bytes, traffic;

  bool empty() const noexcept { return bytes.empty(); }
  double floor() const { return traffic.back(); }
  /// Traffic of the largest counted memory of at most `capacity` bytes; of the smallest one if all are larger.
  double at(double capacity) const {
    auto const after = std::upper_bound(bytes.begin(), bytes.end(), capacity);
    return traffic[after == bytes.begin() ? 0 : static_cast<std::size_t>(after - bytes.begin() - 1)];
  }
};

/// Counts of one operation at one size.
struct counted_work {
  double items = 0;  ///< unit of the rates
  double add = 0, mul = 0, fma = 0, div = 0, sqrt = 0, min_max = 0, compare = 0, select = 0, round = 0, convert = 0,
         integer = 0, exp = 0, log = 0;
  double vector_operations = 0, lanes_useful = 1;
  double bytes_loaded = 0;    ///< all arrays, including scratch
  double bytes_accessed = 0;  ///< loads and stores of all arrays except scratch
  double bytes_compulsory = 0, bytes_touched = 0;
  double argument_bytes = 0, output_bytes = 0, output_elements = 0;
  int arguments = 0, outputs = 0;
  double launches = 0;
  double stage_factor = 1;    ///< see stages_in_turn()
  miss_curve misses{};  ///< empty if reuse distances were not counted

  double flops() const { return add + mul + 2 * fma; }
  double functions() const { return div + sqrt + exp + log; }
};

/// Roofs of the machine on which the times were measured; 0: unknown.
struct machine_roofs {
  struct level {
    std::string name;
    double bytes = 0;  ///< capacity; of all threads together for a level that they share
    double rate = 0;   ///< read bandwidth in bytes per second
  };
  double flops = 0;              ///< float32 flops per second
  double vector_operations = 0;  ///< vector operations per second
  std::vector<level> levels{};   ///< nearest level first; the last one holds everything
  double launch_seconds = 0, upload_rate = 0, download_rate = 0;
};

/// Time that one roof alone would require.
struct roof_time {
  std::string name;
  double seconds = 0;
};
struct baseline {
  double seconds = 0;
  std::vector<roof_time> roofs{};
  std::string limiter = "not known";
  double quality = 0;     ///< largest roof time over the measured time; 0: unknown
  double attainable = 0;  ///< the measured time, or twice the largest roof time if that is less
  std::string note{};
  bool plausible = true;  ///< false: faster than a roof, so a roof or a count is wrong
};

/// The limiter is the argmax of count / roof. Each level of memory is charged with the traffic below the previous
/// level, or with nothing if all data of the operation fit into the previous one, because runs are repeated. A quality
/// below 0.5 means untuned or latency-bound.
/// @param uploaded, downloaded  bytes transferred within `seconds`
inline baseline judge_baseline(counted_work const& w, machine_roofs const& m, double seconds, double uploaded = 0,
                               double downloaded = 0) {
  baseline b{.seconds = seconds, .attainable = seconds};
  auto const roof = [&](std::string const& name, double count, double rate) {
    if (rate > 0) b.roofs.push_back({name, count / rate});
  };
  roof("compute", w.flops(), m.flops);
  roof("vector issue", w.vector_operations, m.vector_operations);
  for (std::size_t k = 0; k < m.levels.size(); ++k) {
    double traffic = w.bytes_loaded;
    if (k > 0) {
      double const before = m.levels[k - 1].bytes;
      if (w.bytes_touched <= before) traffic = 0;
      else if (!w.misses.empty()) traffic = w.misses.at(before);
      else if (k + 1 == m.levels.size()) traffic = w.bytes_compulsory;
      else continue;  // not counted
    }
    roof(m.levels[k].name, traffic, m.levels[k].rate);
  }
  roof("launch", w.launches * m.launch_seconds, m.launch_seconds > 0 ? 1 : 0);
  if (uploaded + downloaded > 0 && m.upload_rate > 0 && m.download_rate > 0)
    b.roofs.push_back({"transfer", uploaded / m.upload_rate + downloaded / m.download_rate});
  if (b.roofs.empty()) {
    b.note = "no roofs of this machine are known";
    return b;
  }
  auto const most = *std::max_element(b.roofs.begin(), b.roofs.end(),
                                      [](auto const& x, auto const& y) { return x.seconds < y.seconds; });
  b.quality = most.seconds / seconds;
  b.limiter = most.name;
  b.plausible = b.quality <= 1.1;  // measured ceilings are accurate to 10 %
  b.attainable = std::min(seconds, most.seconds / 0.5);
  if (!b.plausible) b.note = "faster than the roof of " + most.name + ": a roof or a count is wrong";
  else if (seconds < 5 * w.launches * m.launch_seconds) {
    b.limiter = "launch";
    b.note = "bound by launches: a pipeline in hardware wins without arithmetic";
  } else if (b.quality < 0.5) {
    b.limiter = "latency";
    b.note = "untuned or bound by latency: the nearest roof is " + most.name;
  }
  return b;
}

/// An on-chip buffer.
struct buffer_choice {
  double bytes = 0, traffic = 0;
  bool at_knee = false;
};
/// Smallest memory whose traffic is at most 1.1 times the floor (every line once, including temporaries) and whose
/// bytes fit; otherwise the largest that fits, or none if not even the smallest fits. Sizes scale with the word length:
/// a line of 64 bytes holds 16 words of any length.
inline std::optional<buffer_choice> choose_buffer(miss_curve const& m, double usable_bytes, int bits) {
  std::optional<buffer_choice> chosen;
  double const scale = bits / 32.0;
  for (std::size_t k = 0; k < m.bytes.size() && m.bytes[k] * scale <= usable_bytes; ++k) {
    bool const knee = m.traffic[k] <= 1.1 * m.floor();
    if (knee || !chosen || m.traffic[k] < chosen->traffic / scale)
      chosen = {m.bytes[k] * scale, m.traffic[k] * scale, knee};
    if (knee) break;
  }
  return chosen;
}
/// Bytes of a device that a buffer may take, beside the interfaces of so many arrays and the FIFOs.
inline double usable_bytes(device const& d, int interfaces, int fifos) {
  double const share = fabric::resource_share().value,
               bram = share * d.bram36.value - interfaces * fabric::interface_bram().value -
                      fifos * fabric::fifo_bram().value;
  return (std::floor(std::max(0.0, bram)) * fabric::bram_bits + std::floor(share * d.uram.value) * fabric::uram_bits) /
         8;
}

/// How an operation meets its arrays in memory, from the best to the worst for a memory that likes bursts.
enum class access_class { streamed, reduced, strided, gathered, scattered };
inline char const* name_of(access_class c) {
  static constexpr char const* names[] = {"streamed", "reduced", "strided", "gathered", "scattered"};
  return names[static_cast<int>(c)];
}
/// Counts of the accesses to one array.
struct array_accesses {
  double loads = 0, stores = 0, bytes_loaded = 0, bytes_stored = 0, unique_read = 0, unique_written = 0;
};
/// Class by what was counted: how often a byte is met again, how wide an access is, and whether results are read back.
/// An access of at least 16 bytes is a piece of a row; narrower ones go to computed places one by one. Without reuse
/// the order is that of a stream, whatever the width.
inline access_class class_of(array_accesses const& a) {
  auto const again = [](double bytes, double unique) { return unique > 0 ? bytes / unique : 1; };
  auto const narrow = [](double bytes, double n) { return n > 0 && bytes / n < 16; };
  double const most = 1.1;
  if (a.unique_written > 0) {
    if (again(a.bytes_stored, a.unique_written) <= most) return access_class::streamed;
    return narrow(a.bytes_stored, a.stores) ? access_class::scattered : access_class::reduced;
  }
  if (again(a.bytes_loaded, a.unique_read) <= most) return access_class::streamed;
  return narrow(a.bytes_loaded, a.loads) ? access_class::gathered : access_class::strided;
}

/// Points where the curve levels off: the traffic has fallen by at least 20 % since the previous one, and the next
/// octave (4 sizes) gains less than 5 %.
inline std::vector<buffer_choice> plateaus(miss_curve const& m) {
  std::vector<buffer_choice> all;
  if (m.empty()) return all;
  double last = m.traffic.front();
  for (std::size_t k = 0; k < m.bytes.size(); ++k) {
    double const after = m.traffic[std::min(k + 4, m.bytes.size() - 1)];
    if (m.traffic[k] > 0.8 * last || after < 0.95 * m.traffic[k]) continue;
    all.push_back({m.bytes[k], m.traffic[k], m.traffic[k] <= 1.1 * m.floor()});
    last = m.traffic[k];
  }
  return all;
}

/// Resources of one lane, which accepts one item per initiation interval.
struct lane_cost {
  double dsp = 0, lut = 0, bram = 0;
};
/// Executed operations per item, excluding those of padding, times the cost of each. Permutations and broadcasts are
/// wires and cost nothing.
inline lane_cost cost_of_lane(counted_work const& w, device const& d, word const& in) {
  double const share = w.items > 0 ? w.lanes_useful / w.items : 0, bits = in.bits;
  lane_cost c;
  if (in.floating) {
    c.dsp = w.add * d.f32_add_dsp.value + w.mul * d.f32_mul_dsp.value + w.fma * d.f32_fma_dsp.value +
            w.functions() * fabric::f32_function_dsp().value;
    c.lut = (w.add + w.round + w.convert) * fabric::f32_add_lut().value + w.mul * fabric::f32_mul_lut().value +
            w.fma * fabric::f32_fma_lut().value + w.functions() * fabric::f32_function_lut().value;
  } else {
    c.dsp = (w.mul + w.fma) * fabric::fixed_mul_dsp(in.bits).value + w.functions() * fabric::fixed_function_dsp().value;
    c.lut = w.add * bits + (w.mul + w.fma) * fabric::fixed_mul_lut().value +
            w.functions() * fabric::fixed_function_lut().value;
    c.bram = w.functions() * fabric::fixed_function_bram().value;
  }
  c.lut += (w.min_max + w.compare + w.integer) * bits + w.select * bits / 2;
  return {c.dsp * share, c.lut * share, c.bram * share};
}

struct initiation_interval {
  int value = 1;
  std::string cause = "nothing carried";
};
/// A float32 addition takes 7 clocks, so a sum accepts one term per clock if at least 7 independent sums are
/// interleaved. The lanes share the sums, one per output element.
inline initiation_interval interval_of(counted_work const& w, word const& in, double lanes) {
  if (w.add + w.fma == 0) return {};
  if (!in.floating) return {1, "a fixed-point sum takes one clock"};
  double const distance = std::max(1.0, std::floor(w.output_elements / std::max(lanes, 1.0)));
  double const clocks = fabric::f32_add_clocks().value;
  int const value = static_cast<int>(std::ceil(clocks / distance));
  return {value,
          value == 1 ? "float32 sums of different outputs take turns" : "float32 sums: too few outputs to take turns"};
}

/// A number with its uncertainty: value / factor, value, value * factor.
struct interval {
  double low = 0, nominal = 0, high = 0;
};
inline interval around(double x, double log_factor) { return {x / std::exp(log_factor), x, x * std::exp(log_factor)}; }
/// Combines the logarithms of independent factors.
template <class... L> double together(L... logs) { return std::sqrt((0.0 + ... + (logs * logs))); }

/// Parameters of a verdict besides counts and devices.
struct decision_rules {
  sourced speed_up{1.5}, energy_ratio{3}, energy_low{1.5}, least_speed{0.5}, least_share{0.02};
  /// Calls of an operation per transfer of its arrays.
  sourced calls{15, mark::read, "iterations of a reconstruction by default"};
  sourced clock{1.3}, resources{1.2}, pipeline{1.6}, per_lane{1.4}, memory{1.4}, traffic{1.1}, link{1.2}, power{1.6};
  sourced time{1.1, mark::assumed, "a median of repeated runs"};
};

/// Slowdown of stages that run on separate units and wait for each other: with work w per stage, the best division of
/// the units takes (sum of sqrt w)^2 / sum of w times as long as if every unit worked all the time.
inline double stages_in_turn(std::vector<double> const& work) {
  double roots = 0, sum = 0;
  for (auto const w : work) {
    roots += std::sqrt(w);
    sum += w;
  }
  return sum > 0 ? roots * roots / sum : 1;
}

/// Work for a device, and how one lane performs it.
struct design {
  double items = 0;
  lane_cost lane{};
  word in = f32;
  initiation_interval interval{};
  double words_per_item = 0;  ///< words read and written on the chip
  double off_chip_bytes = 0;  ///< traffic below the buffer
  double upload_bytes = 0, download_bytes = 0;
  int buffers = 0;            ///< arrays sent in either direction
  double barriers = 0;        ///< steps that wait for the previous one
  double stage_factor = 1;    ///< stages_in_turn() of its stages
  double buffer_bytes = 0;    ///< of the buffer on the chip
  int fifos = 0;              ///< between stages
  double efficiency = 1;      ///< share of the usable bandwidth that its class of accesses reaches
};
struct estimate {
  double lanes = 0;  ///< infinite when a lane costs nothing
  double dsp_share = 0, lut_share = 0, bram_share = 0, uram_share = 0, port_share = 0;
  double buffer_bram = 0, buffer_uram = 0, interface_bram = 0, fifo_bram = 0;  ///< blocks; the lanes get the rest
  double compute = 0, ports = 0, memory = 0, rate = 0;  ///< items per second
  std::string bounded_by{};
  double kernel_seconds = 0, transfer_seconds = 0, tax = 0;
  double kernel_log = 0;  ///< uncertainty of kernel_seconds
  double joules = 0, joules_floor = 0;
};

/// R = min(compute, ports, memory); T_k = launch + fill + items / R + barriers; T_x = buffers t0 + bytes / link.
inline estimate estimate_on(device const& d, design const& x, decision_rules const& r = {}) {
  double const none = std::numeric_limits<double>::infinity(), f = d.clock.value,
               share = fabric::resource_share().value;
  auto const over = [&](double a, double b) { return b > 0 ? a / b : none; };
  estimate e;
  // The buffer takes URAM first. It, the interfaces, the FIFOs and the lanes share one budget.
  double const bits = 8 * x.buffer_bytes,
               in_uram = std::min(bits, std::floor(share * d.uram.value) * fabric::uram_bits);
  e.buffer_uram = std::ceil(in_uram / fabric::uram_bits);
  e.buffer_bram = std::ceil((bits - in_uram) / fabric::bram_bits);
  e.interface_bram = x.buffers * fabric::interface_bram().value;
  e.fifo_bram = x.fifos * fabric::fifo_bram().value;
  double const bram = e.buffer_bram + e.interface_bram + e.fifo_bram, lut = x.buffers * fabric::interface_lut().value;
  std::array<std::pair<char const*, double>, 3> const fits{
      {{"dsp", over(share * d.dsp.value, x.lane.dsp)},
       {"lut", over(std::max(0.0, share * d.lut.value - lut), x.lane.lut)},
       {"bram", over(std::max(0.0, share * d.bram36.value - bram), x.lane.bram)}}};
  auto const least =
      *std::min_element(fits.begin(), fits.end(), [](auto const& a, auto const& b) { return a.second < b.second; });
  // Below 1: an item passes through the available units several times.
  e.lanes = least.second > 1 ? std::floor(least.second * (1 + 1e-12)) : least.second;
  e.compute = e.lanes * f * fabric::pipeline_share().value / x.interval.value / x.stage_factor;
  // URAM has two ports; BRAM is read through one.
  double const words =
      (2 * d.uram.value + d.bram36.value) * std::floor(72.0 / x.in.memory_bits) * fabric::port_share().value;
  e.ports = over(f * words, x.words_per_item);
  e.memory = over(x.efficiency * d.memory_usable.value * d.memory_rate.value * x.items, x.off_chip_bytes);
  e.rate = std::min({e.compute, e.ports, e.memory});
  e.bounded_by = e.rate == e.compute ? least.first : e.rate == e.ports ? "ports" : "memory";
  if (std::isinf(e.rate)) e.bounded_by = "launch";
  double const used = std::isinf(e.lanes) ? 0 : e.lanes;
  e.dsp_share = used * x.lane.dsp / d.dsp.value;
  e.lut_share = (used * x.lane.lut + lut) / d.lut.value;
  e.bram_share = d.bram36.value > 0 ? ((x.lane.bram > 0 ? used * x.lane.bram : 0) + bram) / d.bram36.value : 0;
  e.uram_share = d.uram.value > 0 ? e.buffer_uram / d.uram.value : 0;
  e.port_share = words > 0 && used > 0 ? used / x.interval.value * x.words_per_item / words : 0;
  double const fill = fabric::depth_clocks().value / f;
  e.kernel_seconds = d.launch_seconds.value + fill * (1 + x.barriers) + over(x.items, e.rate);
  if (std::isinf(e.rate)) e.kernel_seconds = d.launch_seconds.value + fill * (1 + x.barriers);
  e.transfer_seconds = x.buffers * d.buffer_seconds.value + over(x.upload_bytes, d.upload_rate.value) +
                       over(x.download_bytes, d.download_rate.value);
  e.tax = e.transfer_seconds / (e.kernel_seconds + e.transfer_seconds);
  auto const log = [](sourced const& s) { return std::log(s.value); };
  e.kernel_log = e.bounded_by == "memory" ? together(log(r.memory), log(r.traffic))
                                          : together(log(r.clock), log(r.resources), log(r.pipeline), log(r.per_lane));
  e.joules = d.watts.value * e.kernel_seconds;
  return e;
}

/// Lower bound of the energy in joules: sum of n e over operations and bytes, times 5 on fabric.
inline double energy_floor(counted_work const& w, double off_chip_bytes, word const& in) {
  double const each = in.floating
                          ? (w.add + w.fma) * energy::f32_add().value + (w.mul + w.fma) * energy::f32_mul().value
                          : (w.mul + w.fma) * energy::fixed_mac().value;
  double const reads = w.bytes_accessed * in.memory_bits / 32 * energy::read_byte().value;
  return 1e-12 *
         ((each * w.lanes_useful + reads) * energy::fabric_factor().value + off_chip_bytes * energy::hbm_byte().value);
}

/// The implementation to beat.
struct opponent {
  double seconds = 0, transfer_seconds = 0;  ///< transfers are added if the data are on the host
  double watts = 0, idle_watts = 0;
};
struct comparison {
  interval speed_alone, speed_resident, energy_alone, energy_resident;
  double break_even = -1, break_even_energy = -1;  ///< calls per transfer; negative: never
  std::string flips_on{};                          ///< parameter with the largest influence on the speed
};

/// Compares with the data on the host for both sides, and with the data resident for both.
inline comparison compare(estimate const& e, device const& d, opponent const& b, decision_rules const& r = {}) {
  auto const log = [](sourced const& s) { return std::log(s.value); };
  double const tk = e.kernel_seconds, tx = e.transfer_seconds, both = tk + tx, k = std::exp(e.kernel_log),
               l = r.link.value;
  double const by_kernel = std::log((k * tk + tx) / both), by_link = std::log((tk + l * tx) / both), t = log(r.time),
               p = log(r.power);
  double const idle = d.idle_watts.value * tx, busy = e.joules, joules = busy + idle;
  double const energy_kernel = std::log((k * busy + idle) / joules), energy_link = std::log((busy + l * idle) / joules);
  comparison c;
  c.speed_alone = around((b.seconds + b.transfer_seconds) / both, together(by_kernel, by_link, t));
  c.speed_resident = around(b.seconds / tk, together(e.kernel_log, t));
  double const baseline = b.watts * b.seconds;
  c.energy_alone =
      around((baseline + b.idle_watts * b.transfer_seconds) / joules, together(energy_kernel, energy_link, p, t));
  c.energy_resident = around(baseline / busy, together(e.kernel_log, p, t));
  if (b.seconds > tk) c.break_even = tx / (b.seconds - tk);
  if (baseline > busy) c.break_even_energy = idle / (baseline - busy);
  if (by_link > by_kernel && by_link > t) c.flips_on = "link";
  else if (by_kernel > t) c.flips_on = e.bounded_by == "memory" ? "usable bandwidth" : "lanes and clock";
  else c.flips_on = "baseline time";
  return c;
}

}  // namespace mbirk::profile::fpga
