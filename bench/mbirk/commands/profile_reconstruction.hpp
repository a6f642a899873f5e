// Whole reconstructions in `mbirk profile`: many iterations with their sequence of partitions, timed stage by stage.
#pragma once

#include <nlohmann/json.hpp>

#include "commands/profile_measure.hpp"

namespace mbirk::program {

/// Runs a reconstruction of so many iterations and divides its time among its stages.
/// @param entry  an entry *_mbir_recon of the profile
/// @param most   seconds after which a run is not repeated; the fastest run counts
/// @returns {"size", "iterations", "partition sequence", "subsets", "seconds", "sum of stages", "stages": [{"stage",
/// "group", "seconds", "runs", "share"}], "groups": {...}, "cost": {...}}. Stages are by path, with their own time,
/// without that of the stages inside them. Groups are stages of one kind: seconds, share, and the modelled cost as an
/// entry of cost_analysis. docs/fpga.md has the fields. Without stage times under a policy with blocks.
nlohmann::json measure_reconstruction(profile_entry const& entry, profile_problem const& problem, index_t n,
                                      chosen_policy const& policy, int iterations, double most = 2);

}  // namespace mbirk::program
