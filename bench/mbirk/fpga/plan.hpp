// The best plan for whole reconstructions: where each kind of stage should run, and what an FPGA would add.
#pragma once

#include <string>

#include "fpga/candidate_input.hpp"
#include "fpga/candidates.hpp"

namespace mbirk::program {

/// The block "plan": {"headline", "why": three sentences, "reconstructions": [...]}. docs/fpga.md has the fields.
/// @param operations  the judged operations, which decide without "reconstructions" in the run
json plan_json(json_field const& root, measured_machine const& machine, candidate_settings const& settings,
               json const& operations);

/// What the candidates were compared with, as words.
std::string opponents_text(json const& candidates);

void print_plan(json const& plan);

}  // namespace mbirk::program
