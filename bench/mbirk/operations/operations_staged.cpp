// Unfused operations on the host, timed.
#include "operations/run_body_instances.hpp"
#include "operations/staged_bodies.hpp"

namespace mbirk::program {

bool has_staged(operation const& op) {
  return staged_bodies::with_form(op.body, [](auto const&) {});
}

void run_staged(operation const& op, exec::host const& host, instrument::ledger* counts, any_scan const& scan,
                operands& x, caller const& calls) {
  if (counts) return run_staged_counted(op, host, *counts, scan, x, calls);
  staged_bodies::with_form(op.body, [&]<class Body>(Body const&) {
    run_body<Body>(context{host, instrument::any()}, scan, x, calls);
  });
}

}  // namespace mbirk::program
