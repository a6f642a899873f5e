// Files that `mbirk report` adds to a run: profiles of MBIRJAX, published times, and results of synthesis. Each is read
// and checked before anything of the run changes.
#pragma once

#include <string>

#include "input/json_field.hpp"

namespace mbirk::program {

/// Adds to run["gpu_times"] what JAX's profiler saw of MBIRJAX.
/// @param costs  a file {"64": {"parallel_back_project": {"flops", "bytes accessed"}}} of XLA's cost analysis; may be
/// empty
/// @throws io_error in one line
void add_mbirjax(json& run, std::string const& profile, std::string const& costs);

/// Adds to run["gpu_times"] the times of a file: [{"operation", "size", "device", "seconds", "from"}], called
/// published.
/// @throws io_error in one line
void add_published(json& run, std::string const& file);

/// Adds to run["synthesis"] a form that a user of a synthesis tool has filled in.
/// @throws io_error in one line: a number is missing, or it is of another kernel than those that the run exported
void add_synthesis(json& run, std::string const& file);

}  // namespace mbirk::program
