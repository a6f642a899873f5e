// Filtered back projection in parallel beam, where slices do not depend on each other, of a scan that is larger than
// memory, or than a device: slab by slab, on the host to the same bits as in memory.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "commands/recon_files.hpp"
#include "input/measurement.hpp"
#include "operations/recon_memory.hpp"

namespace mbirk::program {

/// Whether the method and the corrections work on a few rows of all views; they also need parallel beam.
bool works_in_slabs(recon_command const& o);
bool works_in_slabs(recon_command const& o, geometry_file const& g);

/// Slabs are multiples of this many slices, so that the ramp filter pairs the same rows as in memory.
inline constexpr index_t slab_unit = 32;
/// Samples that a reader converts at once.
inline constexpr index_t block_samples = index_t{1} << 20;

/// The scan of `slices` slices of g, which is in parallel beam.
geometry_file slab_of(geometry_file const& g, index_t slices);
/// Reads rows [first, first + count) of all views, dense; calls done(views) before each block.
/// @throws io_error, interrupted
repair_count read_slab(measurement_source const& source, exec::host const& reader, index_t first, index_t count,
                       float* to, std::function<void(index_t)> const& done = {});
/// Adds the memory that this program takes besides the arrays of a slab. @param other  further items
void add_program_memory(std::vector<memory_item>& items, std::vector<memory_item> const& other);

/// Slices of a slab, the last of which may be smaller, and the memory it takes, largest first.
struct slab_plan {
  index_t slices = 0;
  std::vector<memory_item> memory;
};

/// The largest slabs within `limit` (bytes), multiples of 32 slices; the smallest where none fits.
/// @param slices   of the whole
/// @param plan_of  makes the plan of slabs of so many slices
template <class PlanOf> slab_plan largest_slabs(index_t slices, double limit, PlanOf const& plan_of) {
  slab_plan plan = plan_of(std::min(slab_unit, slices));
  double const least = total_bytes(plan.memory);
  if (!(least < limit) || slices <= slab_unit) return plan;
  double const each = total_bytes(plan_of(std::min(2 * slab_unit, slices)).memory) - least;
  auto const whole = static_cast<double>(ceil_div(slices, slab_unit));
  auto const units = static_cast<index_t>(each > 0 ? std::min(whole, 1 + (limit - least) / each) : whole);
  // The sum is not quite linear: layouts depend on the number of rows.
  for (index_t n = units; n > 1; --n) {
    if (total_bytes(plan_of(std::min(n * slab_unit, slices)).memory) > limit) continue;
    // All slabs get nearly the same size, so that a little more or less memory makes no difference to them.
    index_t const all = ceil_div(slices, slab_unit);
    return plan_of(std::min(ceil_div(all, ceil_div(all, n)) * slab_unit, slices));
  }
  return plan;
}

/// Bytes that a reconstruction may take: of the memory of the host and, where it runs on a device with memory of its
/// own, of that. Arrays of emulated devices are not counted.
struct memory_limits {
  double host = std::numeric_limits<double>::infinity();
  bool on_device = false;
  std::optional<double> device = {};
};

/// The largest slabs within both limits; the plan has the memory of the host.
/// @param on_device  bytes of the device that slabs of so many slices need
template <class PlanOf, class OnDevice>
slab_plan largest_slabs(index_t slices, memory_limits const& limits, PlanOf const& plan_of, OnDevice const& on_device) {
  auto const plan = largest_slabs(slices, limits.host, plan_of);
  if (!limits.device) return plan;
  auto const fits = largest_slabs(slices, *limits.device, [&](index_t some) {
    return slab_plan{some, {{"arrays of the device", on_device(some)}}};
  });
  return fits.slices < plan.slices ? plan_of(fits.slices) : plan;
}

/// The largest slabs within the limits, multiples of 32 slices; the smallest where none fits.
/// @param other  memory besides that of the slab and of this program as it is.
slab_plan plan_slabs(exec::host const& host, geometry_file const& g, std::vector<memory_item> const& other,
                     memory_limits const& limits);

/// The notes and counts that a reconstruction in parts returns.
struct partial_result {
  repair_count repaired;
  std::vector<std::string> corrected, notes;
  recon_log record = {};  ///< iterative methods
};

/// Reads, corrects, reconstructs and writes a slab after the other; the next one is read, and large ones are written,
/// meanwhile.
/// @param on  reconstructs a slab
/// @throws io_error, interrupted, mbirk::error; no file is left then
partial_result recon_in_slabs(recon_context const& ctx, reconstructor const& on, recon_command const& o,
                              measurement_source const& source, geometry_file const& g, index_t slices,
                              run_watch& watch);

}  // namespace mbirk::program
