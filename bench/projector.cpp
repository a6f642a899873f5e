// Micro-benchmarks of the projector operations: size x operation, voxel-view updates and compulsory bytes as counters.
#include <benchmark/benchmark.h>

#include "mbirk/profile_problem.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::program;

void run(benchmark::State& state, bool cone, projector_op op) {
  auto const n = state.range(0);
  auto p = make_problem(cone, n, 0, true);
  exec::workspace memory;
  context const ctx{exec::host{0, &memory}, instrument::none{}};
  std::visit([&](auto& q) {
    for (auto _ : state) run_operation(ctx, q, op);
    auto const pixels = op == projector_op::hessian_diagonal ? n * n : static_cast<index_t>(q.pixels(op).size());
    double const updates = static_cast<double>(q.scan.geometry().views * pixels * n);
    state.counters["GUPS"] = benchmark::Counter(updates * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
    auto const moved = static_cast<double>(4 * (q.scan.geometry().views * n * n + pixels * n));
    state.counters["bytes"] = benchmark::Counter(moved, benchmark::Counter::kIsIterationInvariantRate, benchmark::Counter::kIs1024);
  }, p);
}

[[maybe_unused]] bool const registered = [] {
  for (bool const cone : {false, true})
    for (std::size_t k = 0; k < projector_op_names.size(); ++k) {
      auto const name = std::string(cone ? "cone_" : "parallel_") + projector_op_names[k];
      benchmark::RegisterBenchmark(name.c_str(), run, cone, static_cast<projector_op>(k))->Arg(64)->Arg(128)->Arg(256)->UseRealTime()->Unit(benchmark::kMillisecond);
    }
  return true;
}();

}  // namespace
