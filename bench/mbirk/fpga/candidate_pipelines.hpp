// What candidates have to do with reconstructions: how often an operation is called in one, of which stages an operation consists, and one iteration as an
// operation of its own. Out of the JSON of a profile.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fpga/candidate_input.hpp"

namespace mbirk::program {

/// Of the traced runs, by path ("iteration/subset/back"): seconds and how often, beside the seconds of the whole run. Empty without a traced run.
struct traced_stages {
  struct stage {
    double seconds = 0;
    index_t runs = 0;
  };
  double seconds = 0;
  std::map<std::string, stage> by_path;
};
std::map<size_and_name, traced_stages> traced_stages_of(json_field const& root);

/// Where the first stage of the iterations stands among the stages of a reconstruction, which did one iteration; all of them where there is none.
std::size_t first_of_iteration(std::vector<json_field> const& stages, json_field const& cost);

/// Calls for which arrays are sent once: iterations, times the runs of its stage in an iteration for operations on a subset; 1 outside of iterations.
/// @param costs  of the same size
profile::fpga::sourced calls_of(std::string const& name, json_field const& costs, int iterations);

/// Stages of one name together, in the order of their first run: [{"stage", "runs", "flops", "bytes", "share", "limiter", "traced seconds"}], null when there
/// are fewer than two. Bytes: each run reads what it needs, and writes what it makes, once; share: of the roof times.
json stages_of(json_field const& cost, profile::fpga::machine_roofs const& m, traced_stages const* traced);

/// One iteration of vectorised coordinate descent as an entry of cost_analysis, from that of a reconstruction. Its reuse is not known: memory is charged with
/// what the stages move. Its arguments and results are those of the reconstruction. Null when there is no iteration.
json iteration_cost(json_field const& recon);

/// Seconds on the roofs of a machine: flops or bytes, whichever takes longer.
double roof_seconds(profile::fpga::machine_roofs const& m, double flops, double bytes);

}  // namespace mbirk::program
