#include "mbirk/instrument/counting.hpp"
#include "profile_runs.hpp"

namespace mbirk::program {

instrument::op_record count_operation(any_problem& p, projector_op op, bool reuse) {
  instrument::ledger records;
  std::visit([&](auto& q) {
    if (reuse) run_operation(context{exec::host{1}, instrument::counting<instrument::level{true, true, true}>{records}}, q, op);
    else run_operation(context{exec::host{1}, instrument::counting<instrument::level{true, false, true}>{records}}, q, op);
  }, p);
  return records.last();
}

}  // namespace mbirk::program
