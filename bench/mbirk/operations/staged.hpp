// Operations stage by stage, with all that lies between stages in memory: what `mbirk profile --no-fuse` measures beside them (profile/staged.hpp).
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "operations/operations.hpp"

namespace mbirk::program {

/// Whether an operation, by its name in the table, has several stages that it fuses.
bool has_staged(std::string_view name);

/// Runs the unfused form: timed, or counted when there is a ledger, without reuse distances. @throws mbirk::error
void run_staged(std::string_view name, exec::host const& host, instrument::ledger* counts, any_scan const& scan, operands& x, caller const& calls);

/// Bytes that its stages move when each of them reads what it needs, and writes what it makes, once.
std::uint64_t stage_bytes(instrument::operation_record const& r);

/// One table of the block "unfused": operations, both forms, ratios. Nothing without the block.
void print_staged(nlohmann::json const& report);

}  // namespace mbirk::program
