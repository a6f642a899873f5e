// Memory required by a reconstruction, array by array, and memory available.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "mbirk/geometry/scan.hpp"
#include "mbirk/recon/options.hpp"

namespace mbirk::program {

struct memory_item {
  std::string name;
  double bytes;
};

/// Properties of a reconstruction that determine its other allocations.
struct memory_question {
  bool vcd = true;        ///< iterative and interruptible at any time, which copies the state; otherwise direct
  bool weighted = false;  ///< uses weights
  int threads = 1;
};

/// The arrays at the moment of the highest use, largest first: an upper bound that is less than 10 % too high for large
/// problems. Subsets are those of the coarsest partition that will be used.
std::vector<memory_item> recon_memory(std::variant<parallel_scan, cone_scan> const& scan, recon_options const& options,
                                      memory_question const& question);
double total_bytes(std::vector<memory_item> const& items);

struct available_memory {
  double bytes;
  std::string source;  ///< "MemAvailable", "the memory limit of the control group"
};
/// The smaller of the system's available memory and the limits of this process's control groups; nothing if neither can
/// be read.
/// @param root  folder that contains /proc and /sys
std::optional<available_memory> memory_available(std::filesystem::path const& root = "/");

/// Formats bytes: "1.5 GiB".
std::string bytes_text(double bytes);

}  // namespace mbirk::program
