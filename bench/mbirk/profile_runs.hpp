// The instantiations of an operation that the profile needs, one file of code each, so that they compile side by side.
#pragma once

#include "mbirk/exec/workspace.hpp"
#include "mbirk/instrument/ledger.hpp"
#include "mbirk/instrument/tracing.hpp"
#include "profile_problem.hpp"

namespace mbirk::program {

/// Temporaries come from `memory`, so that repeated calls do not pay for fresh pages.
void run_plain(any_problem& p, projector_op op, int threads, exec::workspace& memory);
void run_traced(any_problem& p, projector_op op, int threads, exec::workspace& memory, instrument::trace_buffer& into);

/// Exact counts with unique bytes and value ranges; reuse distances on request.
instrument::op_record count_operation(any_problem& p, projector_op op, bool reuse);
/// The same record (without values) from packs without data.
instrument::op_record model_operation(any_problem& p, projector_op op);

/// Flops of the definition, nonzero weights only.
std::uint64_t minimal_flops(any_problem const& p, projector_op op);

}  // namespace mbirk::program
