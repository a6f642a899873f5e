#include "fpga/gpu_column.hpp"

#include <algorithm>

#include "gpu/prediction.hpp"

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

/// Larger problems are not planned for a prediction.
constexpr index_t largest_predicted_size = 2048;

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

std::optional<opponent_time> predicted_on(std::string const& operation, index_t size, pf::device const& gpu,
                                          pf::counted_work const& w) {
  auto const* const known = gpu::find_device(gpu.name);
  auto const& entries = profile_entries();
  auto const entry =
      std::find_if(entries.begin(), entries.end(), [&](profile_entry const& e) { return e.name == operation; });
  if (!known || entry == entries.end() || size < 1 || size > largest_predicted_size) return std::nullopt;
  auto const predicted = gpu::predict(*entry, problem_shape::cube(size), *known);
  if (!predicted) return std::nullopt;
  auto t = on(gpu, w);
  t.seconds = {predicted->low, predicted->expected, predicted->high};
  t.source = predicted->source;
  t.bound = predicted->bound;
  t.attainable = predicted->lower_bound;
  return t;
}

pf::device device_of_table(gpu::device const& known) {
  auto const number = [&](char const* name) { return known.numbers.find(name)->second; };
  auto flops = number("fma per clock");
  flops.value *= 32 * 2 * known["multiprocessors"] * known["clock"];
  flops.source = "two flops of each lane in " + flops.source + "; clock: " + number("clock").source;
  auto d = pf::device_data::gpu(known.name, flops, number("L2 bytes"), number("memory bytes per second"),
                                number("watts"), number("idle watts"), number("max watts"));
  d.upload_rate = number("upload bytes per second");
  d.download_rate = number("download bytes per second");
  d.buffer_seconds = number("buffer seconds");
  d.launch_seconds = number("launch seconds");
  return d;
}

opponent_time gpu_time_of(json_field const& root, std::string const& operation, index_t size, pf::device const& gpu,
                          pf::counted_work const& w) {
  if (auto known = known_time(root, operation, size, gpu, w)) return *known;
  if (auto predicted = predicted_on(operation, size, gpu, w)) return *predicted;
  return estimated_on(gpu, w);
}

}  // namespace mbirk::program
