#include <numeric>

#include "mbirk/definition/minimal.hpp"
#include "profile_runs.hpp"

namespace mbirk::program {

void run_plain(any_problem& p, projector_op op, int threads, exec::workspace& memory) {
  std::visit([&](auto& q) { run_operation(context{exec::host{threads, &memory}, instrument::none{}}, q, op); }, p);
}

void run_traced(any_problem& p, projector_op op, int threads, exec::workspace& memory, instrument::trace_buffer& into) {
  std::visit([&](auto& q) { run_operation(context{exec::host{threads, &memory}, instrument::tracing{into}}, q, op); }, p);
}

std::uint64_t minimal_flops(any_problem const& p, projector_op op) {
  return std::visit([&](auto const& q) {
    if (op != projector_op::hessian_diagonal) return definition::minimal_flops(q.scan, q.pixels(op), definition::weight_use::projection);
    std::vector<std::int32_t> all(q.scan.mask().size());
    std::iota(all.begin(), all.end(), 0);
    return definition::minimal_flops(q.scan, all, definition::weight_use::unit_hessian);
  }, p);
}

}  // namespace mbirk::program
