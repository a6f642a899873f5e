// The definitions of block_operation.hpp, for the sources that hold instances.
#pragma once

#include "operations/block_operation.hpp"
#include "operations/operation_bodies.hpp"
#include "operations/run_body.hpp"

namespace mbirk::program {

template <class Body, class Exec>
void block_operation<Body, Exec>::plain(context<Exec, instrument::none> const& ctx, any_scan const& scan, operands& x, caller const& calls) {
  run_body<Body>(ctx, scan, x, calls);
}
template <class Body, class Exec>
void block_operation<Body, Exec>::traced(context<Exec, instrument::tracing> const& ctx, any_scan const& scan, operands& x, caller const& calls) {
  run_body<Body>(ctx, scan, x, calls);
}

template <class Body>
void counted_operation<Body>::run(context<exec::emulated, counting> const& ctx, any_scan const& scan, operands& x, caller const& calls) {
  run_body<Body>(ctx, scan, x, calls);
}

}  // namespace mbirk::program
