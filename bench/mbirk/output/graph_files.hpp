// Files with the graphs of operations: text, DOT, StableHLO and an interactive page, before and after fusion.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "mbirk/record/graph.hpp"
#include "operations/profile_problem.hpp"

namespace mbirk::program {

/// The graph of an operation's definition with the pixels listed by the profile; none if the operation as a whole
/// cannot be recorded (partitions, iterative reconstructions, weights whose threshold comes from the data).
std::optional<record::graph> graph_of(profile_entry const& entry, profile_problem const& problem);

/// Writes <folder>/<operation>_v<N>[_unfused|_fused].{txt,dot,mlir} and <operation>_v<N>.html with all of them;
/// "unfused" if named values can be stored as arrays, "fused" if temporaries can be recomputed instead of stored. For
/// iterative reconstructions and proximal maps it writes one subset update, <operation>_v<N>_subset_update, and for
/// gen_weights_mar the weights by an initial reconstruction, <operation>_v<N>_init_recon.
/// @param steps  also writes <operation>_v<N>_step00_unfused.{txt,dot} and one for each following fusion
/// @returns {"<operation>[_subset_update|_init_recon]": costs by form and the files}; empty if nothing can be recorded.
/// @throws io_error
nlohmann::json write_graphs(std::filesystem::path const& folder, profile_entry const& entry,
                            profile_problem const& problem, index_t n, bool steps);

}  // namespace mbirk::program
