// The definition of block_operation, for the sources that hold instances of it.
#pragma once

#include "block_operation.hpp"
#include "operation_bodies.hpp"
#include "run_body.hpp"

namespace mbirk::program {

template <class Body, class Exec>
void block_operation<Body, Exec>::plain(context<Exec, instrument::none> const& ctx, any_scan const& scan, operands& x, caller const& calls) {
  run_body<Body>(ctx, scan, x, calls);
}
template <class Body, class Exec>
void block_operation<Body, Exec>::traced(context<Exec, instrument::tracing> const& ctx, any_scan const& scan, operands& x, caller const& calls) {
  run_body<Body>(ctx, scan, x, calls);
}

}  // namespace mbirk::program
