#include "fpga/fpga_design.hpp"

#include <algorithm>
#include <numeric>

namespace mbirk::program {

namespace pf = mbirk::profile::fpga;

pf::access_class access_mix::dominant() const {
  double const all = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  auto worst = pf::access_class::streamed;
  for (std::size_t c = 0; c < bytes.size(); ++c)
    if (bytes[c] >= 0.2 * all && all > 0) worst = static_cast<pf::access_class>(c);
  return worst;
}

double access_mix::efficiency(bool buffered) const {
  double all = 0, weighted = 0;
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    auto as = static_cast<pf::access_class>(c);
    if (buffered && as == pf::access_class::reduced) as = pf::access_class::streamed;
    if (buffered && as > pf::access_class::strided) as = pf::access_class::strided;
    all += bytes[c];
    weighted += bytes[c] / pf::fabric::access_efficiency(static_cast<int>(as)).value;
  }
  return weighted > 0 ? all / weighted : 1;
}

json access_mix::to_json() const {
  double const all = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  json shares = json::object();
  for (std::size_t c = 0; c < bytes.size(); ++c)
    if (bytes[c] > 0) shares[pf::name_of(static_cast<pf::access_class>(c))] = bytes[c] / all;
  return shares;
}

access_mix access_mix_of(json_field const& cost) {
  access_mix mix;
  for (auto const& a : cost.at("arrays", "an array of arrays").elements()) {
    if (a.at("role", "a role").text() == "scratch") continue;
    pf::array_accesses const n{.loads = count_or_0(a, "loads"),
                               .stores = count_or_0(a, "stores"),
                               .bytes_loaded = count_or_0(a, "bytes loaded"),
                               .bytes_stored = count_or_0(a, "bytes stored"),
                               .unique_read = count_or_0(a, "bytes unique read"),
                               .unique_written = count_or_0(a, "bytes unique written")};
    mix.bytes[static_cast<std::size_t>(pf::class_of(n))] += std::max(n.unique_read, n.unique_written);
  }
  return mix;
}

fpga_design design_on(pf::counted_work const& w, access_mix const& access, pf::device const& d, pf::word const& in,
                      pf::decision_rules const& rules) {
  int const fifos = w.stage_factor > 1 ? 1 : 0;
  fpga_design best;
  pf::design x{.items = w.items, .lane = pf::cost_of_lane(w, d, in), .in = in};
  x.words_per_item = w.items > 0 ? w.bytes_accessed / 4 / w.items : 0;
  // The host has float32.
  x.upload_bytes = w.argument_bytes;
  x.download_bytes = w.output_bytes;
  x.buffers = w.arguments + w.outputs;
  x.barriers = std::max(0.0, w.launches - 1);
  x.stage_factor = w.stage_factor;
  x.fifos = fifos;
  best.usable_bytes = pf::usable_bytes(d, x.buffers, fifos);
  auto const with = [&](std::optional<pf::buffer_choice> const& buffer) {
    auto y = x;
    y.off_chip_bytes = buffer ? buffer->traffic : w.bytes_compulsory * in.memory_bits / 32;
    y.buffer_bytes = buffer ? buffer->bytes : 0;
    y.efficiency = access.efficiency(!buffer || buffer->at_knee);
    y.interval = pf::interval_of(w, in, pf::estimate_on(d, y, rules).lanes);
    auto e = pf::estimate_on(d, y, rules);
    e.joules_floor = pf::energy_floor(w, y.off_chip_bytes, in);
    return fpga_design{y, buffer, best.usable_bytes, e};
  };
  best = with(pf::choose_buffer(w.misses, best.usable_bytes, in.memory_bits));
  // Where the buffer leaves too few blocks for the lanes, a smaller one may be faster.
  for (double usable = best.usable_bytes;
       best.buffer && best.estimate.bounded_by == std::string("bram") && usable > best.usable_bytes / 1024;) {
    usable /= 2;
    auto const smaller = with(pf::choose_buffer(w.misses, usable, in.memory_bits));
    if (!smaller.buffer) break;
    if (smaller.estimate.kernel_seconds < best.estimate.kernel_seconds) best = smaller;
  }
  return best;
}

}  // namespace mbirk::program
