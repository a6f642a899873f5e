// Micro-benchmarks of the projector operations: size x operation, voxel-view updates and compulsory bytes as counters.
#include <benchmark/benchmark.h>

#include "mbirk/exec/workspace.hpp"
#include "operations/profile_problem.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::program;

void run(benchmark::State& state, std::string const& geometry, operation const& op) {
  profile_problem const problem(geometry, state.range(0), 0, true);
  auto x = problem.make_operands(op);
  exec::workspace memory;
  any_context const ctx = context{exec::host{0, &memory}, instrument::any{}};
  for (auto _ : state) op.run(ctx, problem.scan(), x);

  auto const modelled = model_operation({op.name, geometry, &op, {}}, problem_shape::cube(state.range(0))).record;
  auto const rate = [](double per_call) {
    return benchmark::Counter(per_call, benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["GUPS"] = rate(static_cast<double>(modelled.items) * 1e-9);
  state.counters["compulsory_GB/s"] = rate(static_cast<double>(bytes_compulsory(modelled.arrays, false)) * 1e-9);
}

[[maybe_unused]] bool const registered = [] {
  for (auto const& geometry : geometries::names())
    for (auto const& op : operations())
      benchmark::RegisterBenchmark((geometry + "_" + op.name).c_str(),
                                   [geometry, &op](benchmark::State& state) { run(state, geometry, op); })
          ->Arg(64)
          ->Arg(128)
          ->Arg(256)
          ->UseRealTime()
          ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
