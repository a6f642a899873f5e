// The plan in words: one headline and three sentences of why.
#pragma once

#include "input/json_field.hpp"

namespace mbirk::program {

/// Adds "headline" and "why" to a plan.
void add_plan_text(json& plan, json const& operations);

}  // namespace mbirk::program
