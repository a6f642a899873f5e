// Operations under a policy of blocks. They are compiled apart from those of the host, because together they would take twice as long:
// operations_emulated*.cpp and operations_cuda_*.cu hold the instances, and include block_operation_run.hpp for the definitions.
#pragma once

#include "mbirk/context.hpp"
#include "operations/operations.hpp"

namespace mbirk::program {

template <class Body, class Exec> struct block_operation {
  static void plain(context<Exec, instrument::none> const& ctx, any_scan const& scan, operands& x, caller const& calls);
  static void traced(context<Exec, instrument::tracing> const& ctx, any_scan const& scan, operands& x, caller const& calls);
};
/// The kernels of a device counted as they are emulated. Packs that count are types of their own: these are compiled apart from the others.
template <class Body> struct counted_operation {
  static void run(context<exec::emulated, counting> const& ctx, any_scan const& scan, operands& x, caller const& calls);
};

}  // namespace mbirk::program
