#include "machine/memory.hpp"

#include <stdlib.h>  // defines __GLIBC__
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>

#include "mbirk/core/error.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

/// The number after `key` in a file with lines "key value ...".
std::optional<double> bytes_in(std::string const& path, std::string const& key = {}) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    std::istringstream words(line.substr(key.size()));
    if (double x = 0; words >> x) return x;
    return std::nullopt;  // "max"
  }
  return std::nullopt;
}

/// Memory left in a control group: its limit minus the usage, where file pages that can be dropped do not count as
/// used.
std::optional<double> left_in_group(std::string const& folder, char const* limit, char const* usage,
                                    char const* droppable) {
  auto const most = bytes_in(folder + limit), used = bytes_in(folder + usage);
  if (!most || !used) return std::nullopt;
  return std::max(0.0, *most - *used + bytes_in(folder + "memory.stat", droppable).value_or(0));
}

/// The minimum over the process's group and all groups above it.
std::optional<double> left_in_groups(std::string const& root) {
  std::optional<double> least;
  auto const take = [&](std::optional<double> left) {
    if (left && (!least || *left < *least)) least = left;
  };
  std::ifstream groups(root + "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "number:controllers:/path"
    auto const first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    auto const controllers = line.substr(first + 1, second - first - 1);
    bool const unified = controllers.empty(), old = (',' + controllers + ',').find(",memory,") != std::string::npos;
    if (!unified && !old) continue;
    auto const top = root + (unified ? "sys/fs/cgroup/" : "sys/fs/cgroup/memory/");
    auto group = line.substr(second + 1) + '/';
    group.erase(0, group.find_first_not_of('/'));  // empty for the topmost one
    for (;;) {
      auto const folder = top + group;
      take(unified
               ? left_in_group(folder, "memory.max", "memory.current", "inactive_file ")
               : left_in_group(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "));
      if (group.empty()) break;
      auto const slash = group.size() < 2 ? group.npos : group.rfind('/', group.size() - 2);
      group.erase(slash == group.npos ? 0 : slash + 1);
    }
  }
  return least;
}

}  // namespace

std::optional<available_memory> memory_available(fs::path const& folder) {
  // Texts, because std::filesystem::path of libstdc++ 12 may crash when memory runs out while paths are joined.
  auto const root = folder.string() + '/';
  std::optional<available_memory> available;
  if (auto const kib = bytes_in(root + "proc/meminfo", "MemAvailable:"))
    available = {*kib * 1024, "MemAvailable of /proc/meminfo"};
  if (auto const left = left_in_groups(root); left && (!available || *left < available->bytes))
    available = {*left, "the memory limit of the control group"};
  return available;
}

double memory_budget::limit() const noexcept {
  return available_ ? available_->bytes : std::numeric_limits<double>::infinity();
}

void memory_budget::require(double bytes, std::string const& what) const {
  mbirk::require<allocation_error>(bytes <= limit(), [&] {
    return what + " needs " + bytes_text(bytes) + " of memory (" + fmt::format("{:.0f}", bytes) +
           " bytes), expected at most " + bytes_text(available_->bytes) + ", " + available_->source;
  });
}

void return_freed_arrays() noexcept {
#if defined(__GLIBC__)
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

std::string bytes_text(double bytes) {
  char const* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : bytes < 10 ? 2 : bytes < 100 ? 1 : 0, units[unit]);
}

}  // namespace mbirk::program
