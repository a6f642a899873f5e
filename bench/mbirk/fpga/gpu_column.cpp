#include "fpga/gpu_column.hpp"

#include <algorithm>

namespace mbirk::program {

namespace pf = mbirk::profile::fpga;

namespace {

/// Kernels without tuning for one device take 3 to 10 times their nearest roof: the predictions for mbirk's own kernels
/// in docs/gpu.md, over the same roofs.
constexpr double over_roof = 5, over_roof_factor = 3;

double transfers_of(pf::device const& d, pf::counted_work const& w) {
  if (!(d.upload_rate.value > 0) || !(d.download_rate.value > 0)) return 0;
  return (w.arguments + w.outputs) * d.buffer_seconds.value + w.argument_bytes / d.upload_rate.value +
         w.output_bytes / d.download_rate.value;
}

opponent_time on(pf::device const& gpu, pf::counted_work const& w) {
  return {.device = gpu.name,
          .kind = "gpu",
          .seconds = {},
          .transfer_seconds = transfers_of(gpu, w),
          .watts = gpu.watts.value,
          .idle_watts = gpu.idle_watts.value};
}

}  // namespace

json to_json(opponent_time const& t) {
  return {{"device", t.device},
          {"kind", t.kind},
          {"seconds", {t.seconds.low, t.seconds.nominal, t.seconds.high}},
          {"transfer seconds", t.transfer_seconds},
          {"joules", t.watts > 0 ? json(t.joules()) : json(nullptr)},
          {"source", t.source},
          {"bound", t.bound}};
}

opponent_time estimated_on(pf::device const& gpu, pf::counted_work const& w) {
  auto t = on(gpu, w);
  double const instructions =
                   w.add + w.mul + w.fma + w.min_max + w.compare + w.select + w.round + w.convert + w.integer,
               traffic = !w.misses.empty() && gpu.cache_bytes.value > 0 ? w.misses.at(gpu.cache_bytes.value)
                                                                        : w.bytes_compulsory;
  // Two flops an instruction; special functions at an eighth of the rate of instructions.
  std::pair<double, char const*> const roofs[] = {
      {instructions / (gpu.flops.value / 2), "issue"},
      {8 * w.functions() / (gpu.flops.value / 2), "special functions"},
      {traffic / (gpu.memory_usable.value * gpu.memory_rate.value), "DRAM"}};
  auto const most = *std::max_element(std::begin(roofs), std::end(roofs));
  double const launches = w.launches * gpu.launch_seconds.value;
  // A graph of launches takes less than half of single ones; a busy driver more.
  t.seconds = {0.4 * launches + most.first, launches + over_roof * most.first,
               1.5 * launches + over_roof * over_roof_factor * most.first};
  t.bound = launches > over_roof * most.first ? "launch" : most.second;
  t.attainable = 0.4 * launches + 2 * most.first;
  t.source = estimated;
  return t;
}

std::optional<opponent_time> known_time(json_field const& root, std::string const& operation, index_t size,
                                        pf::device const& gpu, pf::counted_work const& w) {
  if (!root.has("gpu_times")) return std::nullopt;
  for (auto const& one : root.at("gpu_times", "an array of times").elements()) {
    if (one.at("operation", "the name of an operation").text() != operation ||
        one.at("size", "a whole number").integer() != size ||
        one.at("device", "the name of a device").text().find(gpu.name) == std::string::npos)
      continue;
    auto t = on(gpu, w);
    double const seconds = one.at("seconds", "seconds > 0").number("seconds > 0");
    if (!(seconds > 0)) one.at("seconds", "").wrong("seconds > 0");
    t.seconds = {seconds / 1.1, seconds, seconds * 1.1};
    t.source = one.at("source", "where it is from").text();
    t.bound = "not known";
    t.attainable = std::min(seconds, estimated_on(gpu, w).attainable);
    return t;
  }
  return std::nullopt;
}

opponent_time gpu_time_of(json_field const& root, std::string const& operation, index_t size, pf::device const& gpu,
                          pf::counted_work const& w) {
  if (auto known = known_time(root, operation, size, gpu, w)) return *known;
  return estimated_on(gpu, w);
}

}  // namespace mbirk::program
