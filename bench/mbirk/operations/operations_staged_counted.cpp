// Unfused operations on the host, counted.
#include "operations/run_body_instances.hpp"
#include "operations/staged_bodies.hpp"

namespace mbirk::program {

void run_staged_counted(operation const& op, exec::host const& host, instrument::ledger& counts, any_scan const& scan,
                        operands& x, caller const& calls) {
  staged_bodies::with_form(op.body, [&]<class Body>(Body const&) {
    run_body<Body>(context{host, counting{counts, false}}, scan, x, calls);
  });
}

}  // namespace mbirk::program
