// Relation of candidates to reconstructions: how often a reconstruction calls an operation, the stages of an operation,
// and one iteration as an operation of its own. All from the JSON of a profile.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fpga/candidate_input.hpp"

namespace mbirk::program {

/// Stages of the traced runs by path ("iteration/subset/back"): seconds and number of runs, with the seconds of the
/// whole run. Empty without a traced run.
struct traced_stages {
  struct stage {
    double seconds = 0;
    index_t runs = 0;
  };
  double seconds = 0;
  std::map<std::string, stage> by_path;
};
std::map<size_and_name, traced_stages> traced_stages_of(json_field const& root);

/// Index of the first stage of the iterations among the stages of a reconstruction that did one iteration; the number
/// of stages if there is none.
std::size_t first_of_iteration(std::vector<json_field> const& stages, json_field const& cost);

/// Number of calls per transfer of the arrays: iterations, times the runs of its stage per iteration for operations on
/// a subset; 1 outside of iterations.
/// @param costs  of the same size
profile::fpga::sourced calls_of(std::string const& name, json_field const& costs, int iterations);

/// Stages merged by name, in the order of their first run: [{"stage", "runs", "flops", "bytes", "share", "limiter",
/// "traced seconds"}], or null if there are fewer than two. Bytes: each run reads its inputs and writes its outputs
/// once. Share: of the roof times.
json stages_of(json_field const& cost, profile::fpga::machine_roofs const& m, traced_stages const* traced);

/// One iteration of vectorised coordinate descent as an entry of cost_analysis, derived from that of a reconstruction.
/// Its reuse is unknown, so memory is charged with the bytes that the stages move. Its arguments and results are those
/// of the reconstruction. Null if there is no iteration.
json iteration_cost(json_field const& recon);

/// Seconds at the peak rates of a machine: flops or bytes, whichever takes longer.
double roof_seconds(profile::fpga::machine_roofs const& m, double flops, double bytes);

}  // namespace mbirk::program
