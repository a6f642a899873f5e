// A counted operation as JSON: the fields of cost_analysis.
#pragma once

#include <nlohmann/json.hpp>

#include "mbirk/exec/concepts.hpp"
#include "mbirk/instrument/ledger.hpp"

namespace mbirk::program {

/// @param source  "counted" or "model"
/// @param minimal  flops of the definition; 0 if unknown
/// @param transfers  copies between host and device during the call
nlohmann::json cost_json(instrument::operation_record const& r, char const* source, std::uint64_t minimal, int threads,
                         transfer_counts const& transfers = {});

}  // namespace mbirk::program
