#include "commands/profile_reconstruction.hpp"

#include <algorithm>
#include <vector>

#include "fpga/stage_groups.hpp"
#include "output/cost_json.hpp"
#include "output/trace_excerpt.hpp"

namespace mbirk::program {
namespace {

/// One run of a reconstruction with its stages by path.
struct traced_reconstruction {
  double seconds = 0;
  nlohmann::json stages;
};

traced_reconstruction run_once(profile_entry const& entry, profile_problem const& problem,
                               chosen_policy const& policy) {
  // A reconstruction has about ten events for each subset.
  device_trace trace(std::size_t{1} << 19, false);
  measured_operation m{entry, problem, problem.make_operands(*entry.op, entry.arguments), policy, trace};
  auto const begin = trace.marks().now();
  traced_reconstruction one{m.measure(2)["time"].get<double>(), nullptr};
  trace.marks().finish();
  if (!policy.has_blocks() && trace.marks().dropped() == 0)
    one.stages = stage_times(trace.marks(), begin, trace.marks().now());
  return one;
}

}  // namespace

nlohmann::json measure_reconstruction(profile_entry const& entry, profile_problem const& problem, index_t n,
                                      chosen_policy const& policy, int iterations, double most) {
  auto many = entry;
  many.arguments["max_iterations"] = iterations;
  auto best = run_once(many, problem, policy);
  double spent = best.seconds;
  for (int run = 1; run < 5 && spent < most; ++run) {
    auto next = run_once(many, problem, policy);
    spent += next.seconds;
    if (next.seconds < best.seconds) best = std::move(next);
  }
  recon_model_options const defaults;
  std::vector<index_t> sequence, subsets;
  for (int k = 0; k < iterations; ++k) {
    auto const& all = defaults.partition_sequence;
    sequence.push_back(all[std::min(static_cast<std::size_t>(k), all.size() - 1)]);
    subsets.push_back(defaults.granularity[static_cast<std::size_t>(sequence.back())]);
  }
  json out{{"size", n},          {"iterations", iterations}, {"partition sequence", sequence},
           {"subsets", subsets}, {"seconds", best.seconds},  {"policy", policy.name()}};
  auto modelled = model_operation(many, problem_shape::cube(n)).record;
  auto const sums = add_up_stages(modelled);
  add_stage_groups(out, best.stages, with_sums(cost_json(modelled, "model", 0, policy.host().threads()), sums));
  return out;
}

}  // namespace mbirk::program
