// Iterative reconstruction in parallel beam of a scan that is larger than memory: sweeps over slabs, whose slices are
// in a file without a name between the sweeps.
#pragma once

#include <string>
#include <vector>

#include "commands/recon_slabs.hpp"

namespace mbirk::program {

/// Whether the method and the corrections work on a few rows of all views; they also need parallel beam.
bool works_in_sweeps(recon_command const& o);
bool works_in_sweeps(recon_command const& o, geometry_file const& g);

/// --slab-sweeps needs parallel beam, and an iteration for each sweep. @throws io_error
void check_sweeps(recon_command const& o, geometry_file const& g);

/// Says what would help where an iterative reconstruction does not fit and does not work in slabs: the end of a
/// message. @param limit  bytes
std::string memory_advice(recon_command const& o, geometry_file const& g, exec::host const& host, double limit);

/// See plan_slabs.
slab_plan plan_sweeps(exec::host const& host, recon_command const& o, geometry_file const& g,
                      recon_options const& options, std::vector<memory_item> const& other,
                      memory_limits const& limits);

/// Reads, corrects and reconstructs the slabs in turn, and writes all at the end.
/// @param on      reconstructs a slab
/// @param slices  of all slabs but the last
/// @throws io_error, interrupted, mbirk::error; no file is left then
partial_result recon_in_sweeps(recon_context const& ctx, reconstructor const& on, recon_command const& o,
                               measurement_source const& source, geometry_file const& g, recon_options options,
                               index_t slices, run_watch& watch);

}  // namespace mbirk::program
