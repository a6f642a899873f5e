// Operations stage by stage, with all intermediate results in memory, which `mbirk profile --no-fuse` compares with the
// fused ones (profile/staged.hpp).
#pragma once

#include <nlohmann/json.hpp>

#include "operations/operations.hpp"

namespace mbirk::program {

/// Whether an operation fuses several stages.
bool has_staged(operation const& op);

/// Runs the unfused form: timed, or, if a ledger is given, counted without reuse distances.
/// @throws mbirk::error
void run_staged(operation const& op, exec::host const& host, instrument::ledger* counts, any_scan const& scan,
                operands& x, caller const& calls);

/// Bytes moved by the stages if each of them reads its inputs and writes its outputs once.
std::uint64_t stage_bytes(instrument::operation_record const& r);

/// Prints the block "unfused" as a table: operations, both forms, ratios. Does nothing without the block.
void print_staged(nlohmann::json const& report);

}  // namespace mbirk::program
