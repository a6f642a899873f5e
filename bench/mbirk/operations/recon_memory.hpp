// How much memory a reconstruction takes, array by array, and how much there is.
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

/// What is allocated besides the arrays of a reconstruction.
struct memory_question {
  bool vcd = true;        ///< iterative, and interrupted at any time: that copies the state; otherwise direct
  bool weighted = false;  ///< with weights
  int threads = 1;
};

/// The arrays at the moment when most are there, largest first: an upper bound that is less than a tenth too high for large problems. Subsets are
/// those of the partition with the largest ones, among those that will be used.
std::vector<memory_item> recon_memory(std::variant<parallel_scan, cone_scan> const& scan, recon_options const& options, memory_question const& question);
double total_bytes(std::vector<memory_item> const& items);

struct available_memory {
  double bytes;
  std::string source;  ///< "MemAvailable", "the memory limit of the control group"
};
/// The lower one of what the system has and what the control groups of this process allow; nothing where neither can be read.
/// @param root  where /proc and /sys lie
std::optional<available_memory> memory_available(std::filesystem::path const& root = "/");

/// "1.5 GiB"
std::string bytes_text(double bytes);

}  // namespace mbirk::program
