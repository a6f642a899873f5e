// Memory available on this machine.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace mbirk::program {

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
