#include "mbirk/instrument/counting.hpp"
#include "profile_runs.hpp"

namespace mbirk::program {

instrument::op_record model_operation(any_problem& p, projector_op op) {
  instrument::ledger records;
  std::visit([&](auto& q) { run_operation(context{exec::host{1}, instrument::model<>{records}}, q, op); }, p);
  return records.last();
}

}  // namespace mbirk::program
