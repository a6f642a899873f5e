// FDK of a scan that is larger than memory, or than a device: bands of rows of the image one after the other, to each
// of which the views are added block by block, on the host to the same bits as in memory.
#pragma once

#include <vector>

#include "commands/recon_slabs.hpp"

namespace mbirk::program {

/// Whether the method, the corrections and the file work on all rows of a few views.
bool works_in_bands(recon_command const& o);
/// Whether that also holds for the scan: cone beam whose detector is not widened.
bool works_in_bands(recon_command const& o, geometry_file const& g);

/// Rows of a band and views of a block, the last of which may be smaller, and the memory they take, largest first.
struct band_plan {
  index_t rows = 0, views = 0;
  std::vector<memory_item> memory;
  double device = 0;  ///< predicted bytes of a device; 0 on the host
};

/// The largest bands within the limits; the smallest where none fits.
/// @param other  memory besides that of the band and of this program as it is.
band_plan plan_bands(exec::host const& host, geometry_file const& g, std::vector<memory_item> const& other,
                     memory_limits const& limits);

/// Reconstructs and writes a band after the other; the next block of views is read meanwhile.
/// @param on  reconstructs a band
/// @throws io_error, interrupted, mbirk::error; no file is left then
partial_result recon_in_bands(recon_context const& ctx, reconstructor const& on, recon_command const& o,
                              measurement_source const& source, geometry_file const& g, band_plan const& plan,
                              run_watch& watch);

}  // namespace mbirk::program
