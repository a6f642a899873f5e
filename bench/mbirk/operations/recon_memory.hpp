// Memory of a reconstruction, array by array, before anything is allocated.
#pragma once

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

/// Arrays of the same name as one item each, largest first.
std::vector<memory_item> memory_items(std::vector<instrument::sized_array> const& arrays);
double total_bytes(std::vector<memory_item> const& items);

/// Properties of a reconstruction that determine its allocations, besides its options.
struct memory_question {
  bool vcd = true;        ///< iterative, and interruptible at any time, which copies the state; otherwise direct
  bool weighted = false;  ///< uses weights
};

/// The arrays at the moment of the highest use, largest first: those of the caller, and the temporaries that
/// instrument::sizing finds, to the byte. The lists and plans of pixels, which it leaves out, are one item, rounded up.
/// Runs no kernel, but makes the lists of pixels: where these and the caller's arrays alone exceed `limit` (bytes),
/// there are no further items.
std::vector<memory_item> recon_memory(exec::host const& host, recon_scan const& scan, recon_options const& options,
                                      memory_question const& question,
                                      double limit = std::numeric_limits<double>::infinity());

}  // namespace mbirk::program
