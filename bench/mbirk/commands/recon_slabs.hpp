// Filtered back projection in parallel beam, where slices do not depend on each other, of a scan that is larger than
// memory: slab by slab, to the same bits as in memory.
#pragma once

#include <string>
#include <vector>

#include "commands/recon_files.hpp"
#include "input/measurement.hpp"
#include "operations/recon_memory.hpp"

namespace mbirk::program {

/// Whether the method and the corrections work on a few rows of all views; they also need parallel beam.
bool works_in_slabs(recon_command const& o);
bool works_in_slabs(recon_command const& o, geometry_file const& g);

/// Slices of a slab, the last of which may be smaller, and the memory it takes, largest first.
struct slab_plan {
  index_t slices = 0;
  std::vector<memory_item> memory;
};

/// The largest slabs within `limit` (bytes), multiples of 32 slices; the smallest where none fits.
/// @param other  memory besides that of the slab and of this program as it is.
slab_plan plan_slabs(exec::host const& host, geometry_file const& g, std::vector<memory_item> const& other,
                     double limit);

/// The notes and counts that a reconstruction in parts returns.
struct partial_result {
  repair_count repaired;
  std::vector<std::string> corrected, notes;
};

/// Reads, corrects, reconstructs and writes a slab after the other; the next one is read meanwhile.
/// @throws io_error, interrupted, mbirk::error; no file is left then
partial_result recon_in_slabs(recon_context const& ctx, recon_command const& o, measurement_source const& source,
                              geometry_file const& g, index_t slices, run_watch& watch);

}  // namespace mbirk::program
