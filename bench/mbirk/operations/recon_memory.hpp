// Memory of a reconstruction, array by array, before anything is allocated.
#pragma once

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "mbirk/instrument/sizing.hpp"
#include "operations/recon_run.hpp"

namespace mbirk::program {

struct memory_item {
  std::string name;
  double bytes;
};

void put_largest_first(std::vector<memory_item>& items);
/// Arrays of the same name as one item each, largest first.
std::vector<memory_item> memory_items(std::vector<instrument::sized_array> const& arrays);
double total_bytes(std::vector<memory_item> const& items);

/// Bytes of parameters per view: lists of angles as JSON, while they grow, and as text.
inline constexpr double parameter_bytes = 100;
/// What a program needs besides the arrays: fields and lists of views, and what its threads touch of their stacks. No
/// more threads are started than there are rows of the sinogram or pixels.
/// @param reading  bytes that the reader of the measurement keeps
std::vector<memory_item> program_memory(exec::host const& host, std::array<index_t, 3> const& sinogram,
                                        std::array<index_t, 3> const& recon, double reading);

/// Properties of a reconstruction that determine its allocations, besides its options.
struct memory_question {
  bool vcd = true;         ///< iterative; otherwise direct
  bool weighted = false;   ///< uses weights
  bool on_device = false;  ///< temporaries are in the memory of a device
  bool saves = true;       ///< iterative, and interruptible at any time, which copies the state
};

/// The arrays of the host at the moment of the highest use, largest first: those of the caller, and the temporaries
/// that instrument::sizing finds, to the byte. The lists and plans of pixels, which it leaves out, are one item,
/// rounded up. Runs no kernel, but makes the lists of pixels: where these and the caller's arrays alone exceed `limit`
/// (bytes), there are no further items.
std::vector<memory_item> recon_memory(exec::host const& host, recon_scan const& scan, recon_options const& options,
                                      memory_question const& question,
                                      double limit = std::numeric_limits<double>::infinity());

/// Predictions of a device's memory are this many times the arrays: a tenth is for the lists of pixels of plans.
inline constexpr double with_lists = 1.1;
/// Bytes of the host through which uploads of arrays of `bytes` go.
double pinned_bytes(double bytes);
/// A prediction of the bytes on a device of arrays of the detector that take `bytes` on the host: there, rows are in
/// whole packs of 32.
double padded_on_device(double bytes, index_t detector_rows);
/// A prediction of the scratch memory that the ramp filter takes on a device, which it needs for wide detectors only.
double filter_scratch(std::array<index_t, 3> const& sinogram);
/// A prediction of the bytes of a device that a reconstruction on it takes: the arrays of the host, with padded rows,
/// and a tenth for lists.
double device_memory(exec::host const& host, recon_scan const& scan, recon_options const& options,
                     memory_question question);
/// The same for distributed::recon_in_slabs. @param slab  the largest; @param slices  of the whole
double device_memory_of_slabs(exec::host const& host, parallel_scan const& slab, index_t slices,
                              recon_options const& options, bool weighted);

/// recon_memory of distributed::recon_in_slabs, which stops as it does at the limit.
/// @param slab  the largest; @param slices  of the whole
std::vector<memory_item> memory_of_slabs(exec::host const& host, parallel_scan const& slab, index_t slices,
                                         recon_options const& options, memory_question question,
                                         double limit = std::numeric_limits<double>::infinity());

}  // namespace mbirk::program
