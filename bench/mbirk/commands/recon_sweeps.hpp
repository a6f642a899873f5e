// Iterative reconstruction in parallel beam of a scan that is larger than memory: sweeps over slabs, whose slices are
// in a file between the sweeps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/recon_slabs.hpp"
#include "input/checkpoint_file.hpp"

namespace mbirk::program {

/// Whether the method and the corrections work on a few rows of all views; they also need parallel beam.
bool works_in_sweeps(recon_command const& o);
bool works_in_sweeps(recon_command const& o, geometry_file const& g);

/// --slab-sweeps needs parallel beam, and an iteration for each sweep. @throws io_error
void check_sweeps(recon_command const& o, geometry_file const& g);

/// Adds the iterations to the parameters of a reconstruction, with which a checkpoint of slabs must agree.
json parameters_of_sweeps(recon_command const& o, json parameters);

/// Says what would help where an iterative reconstruction does not fit and does not work in slabs: the end of a
/// message. @param limit  bytes
std::string memory_advice(recon_command const& o, geometry_file const& g, exec::host const& host, double limit);

/// See plan_slabs. @throws io_error if the state to resume is not one of slabs, or its slabs do not fit
slab_plan plan_sweeps(exec::host const& host, recon_command const& o, geometry_file const& g,
                      recon_options const& options, std::vector<memory_item> const& other,
                      memory_limits const& limits, std::optional<saved_slabs> const& resumed);

/// Reads, corrects and reconstructs the slabs in turn, and writes all at the end. The state is saved after each visit
/// of a slab if --checkpoint is given, otherwise only by an interruption.
/// @param on          reconstructs a slab
/// @param parameters  see parameters_of_sweeps
/// @param resumed     the state to go on from
/// @param slices      of all slabs but the last
/// @throws io_error, interrupted, mbirk::error; no result is left then
partial_result recon_in_sweeps(recon_context const& ctx, reconstructor const& on, recon_command const& o,
                               measurement_source const& source, geometry_file const& g, recon_options options,
                               json const& parameters, std::optional<saved_slabs> const& resumed, index_t slices,
                               run_watch& watch);

}  // namespace mbirk::program
