// The graphs of operations as files: text, DOT and StableHLO, before and after fusion.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

#include "profile_problem.hpp"

namespace mbirk::program {

/// Writes <folder>/<operation>_v<N>[_unfused|_fused].{txt,dot,mlir}; "unfused" where named values can be cut out as arrays, "fused" where temporaries
/// can be computed again instead of kept. @returns costs by form and the files, null for an operation whose definition is no text over a machine
/// (partitions, reconstructions).
/// @throws io_error
nlohmann::json write_graphs(std::filesystem::path const& folder, profile_entry const& entry, profile_problem const& problem, index_t n);

}  // namespace mbirk::program
