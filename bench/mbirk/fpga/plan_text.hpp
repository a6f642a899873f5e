// The plan in words: one headline and three sentences of why.
#pragma once

#include <string>
#include <string_view>

#include "input/json_field.hpp"

namespace mbirk::program {

/// Adds "headline" and "why" to a plan.
void add_plan_text(json& plan, json const& operations);

/// The geometry of an operation in words: "cone beam" of "cone_mbir_recon", "general views" of "general_mbir_recon".
std::string geometry_title(std::string_view operation);

}  // namespace mbirk::program
