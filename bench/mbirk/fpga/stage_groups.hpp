// Stages of a reconstruction by kind. A kind is what one accelerator would take over: all projections, all back
// projections, the Hessian diagonal, the filter, the prior with the update.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fpga/candidate_input.hpp"
#include "mbirk/instrument/ledger.hpp"

namespace mbirk::program {

/// "sum" of the path "iteration/subset/sum".
std::string last_of(std::string const& path);

struct stage_group {
  std::string name;                     ///< "forward projection"
  std::vector<std::string> stages;      ///< names of its stages
  std::vector<std::string> operations;  ///< operations of the profile that do the same, without the geometry
};
/// The last one takes what no other does.
std::vector<stage_group> const& stage_groups();
stage_group const& group_of_stage(std::string const& path);
/// The group that does what an operation does, "cone_back_project"; null if none does.
stage_group const* group_of_operation(std::string const& name);

/// Adds to a reconstruction with "seconds" its "stages", "sum of stages" and "groups".
/// @param times  stage_times() of a run, or null
/// @param cost   cost_json() of the same reconstruction; a stage with "runs" is the sum of that many
void add_stage_groups(json& reconstruction, json const& times, json const& cost);

/// Several stages as one entry of cost_analysis, without arguments and results. Its "independent sums" are the elements
/// that a run of a stage writes on average; a stage with "runs" is the sum of that many.
json merged_stages(std::vector<json_field> const& stages);

/// Counts of the stages of one name that the sum of their records does not have.
struct stage_sum {
  index_t runs = 0;
  double useful_flops = 0;  ///< in lanes that are useful
};
/// Adds up the stages of a record by name, because a reconstruction has thousands and JSON of each takes long.
/// @throws parameter_error  the stages have reuse, which does not add up
std::map<std::string, stage_sum> add_up_stages(instrument::operation_record& record);
/// cost_json() of that record, with the runs of the stages and their useful lanes as merged_stages() weights them.
json with_sums(json cost, std::map<std::string, stage_sum> const& sums);

}  // namespace mbirk::program
