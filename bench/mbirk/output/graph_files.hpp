// The graphs of operations as files: text, DOT, StableHLO and a page to look around in, before and after fusion.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "mbirk/record/graph.hpp"
#include "operations/profile_problem.hpp"

namespace mbirk::program {

/// Of the definition that an operation computes, with the pixels that the profile lists; none where that is no text over a machine (partitions,
/// reconstructions).
std::optional<record::graph> graph_of(profile_entry const& entry, profile_problem const& problem);

/// Writes <folder>/<operation>_v<N>[_unfused|_fused].{txt,dot,mlir} and <operation>_v<N>.html with all of them; "unfused" where named values can be cut
/// out as arrays, "fused" where temporaries can be computed again instead of kept.
/// Of a reconstruction in parallel beam the same, without StableHLO, of one subset update: <operation>_v<N>_subset_update.
/// @param steps  also <operation>_v<N>_step00_unfused.{txt,dot} and one for each fusion after it
/// @returns costs by form and the files, null for an operation whose definition is no text over a machine (partitions, reconstructions).
/// @throws io_error
nlohmann::json write_graphs(std::filesystem::path const& folder, profile_entry const& entry, profile_problem const& problem, index_t n, bool steps);

}  // namespace mbirk::program
