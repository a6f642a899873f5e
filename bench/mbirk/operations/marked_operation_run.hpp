// The definition of marked_operation, for the sources that hold instances.
#pragma once

#include "operations/marked_operation.hpp"
#include "operations/run_body.hpp"

namespace mbirk::program {

template <class Body>
void marked_operation<Body>::run(context<exec::cuda, instrument::nvtx> const& ctx, any_scan const& scan, operands& x, caller const& calls) {
  run_body<Body>(ctx, scan, x, calls);
}

}  // namespace mbirk::program
