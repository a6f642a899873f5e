// How many threads this process can run at the same time: its affinity mask and the quota of its control group, not the
// number of processors.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "mbirk/core/config.hpp"

#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif

namespace mbirk::exec {

namespace detail {

/// The first line of a file; empty when it cannot be read.
inline std::string first_line(std::string const& path) {
  std::string line;
  if (std::FILE* const file = std::fopen(path.c_str(), "re")) {
    char buffer[256];
    if (std::fgets(buffer, sizeof buffer, file)) line = buffer;
    std::fclose(file);
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
  return line;
}

/// Processors allowed by a quota of `quota` microseconds in every `period`; 0 when there is no limit.
inline double quota_processors(std::string const& quota, std::string const& period) {
  double const q = std::atof(quota.c_str());
  double const p = std::atof(period.c_str());
  return q > 0 && p > 0 ? q / p : 0;
}

/// The tightest CPU quota of the control group `group` ("/a/b") and its parents below the mount point `root`; 0 when
/// there is none. Reads cpu.max of version 2 ("max 100000" or "50000 100000") and cpu.cfs_quota_us of version 1.
MBIRK_COLD inline double group_processors(std::string const& root, std::string group) {
  double tightest = 0;
  for (;;) {
    std::string const folder = root + (group == "/" ? "" : group) + "/";
    double limit = 0;
    if (std::string const both = first_line(folder + "cpu.max"); !both.empty()) {
      auto const space = both.find(' ');
      if (space != std::string::npos) limit = quota_processors(both.substr(0, space), both.substr(space + 1));
    } else {
      limit = quota_processors(first_line(folder + "cpu.cfs_quota_us"), first_line(folder + "cpu.cfs_period_us"));
    }
    if (limit > 0) tightest = tightest > 0 ? std::min(tightest, limit) : limit;
    if (group.empty() || group == "/") return tightest;
    auto const slash = group.rfind('/');
    group = slash == std::string::npos ? std::string() : group.substr(0, slash);
  }
}

/// The group named by a line of /proc/self/cgroup, "0::/a/b" (version 2) or "4:cpu,cpuacct:/a/b" (version 1 with the
/// cpu controller); else empty.
inline std::string cpu_group(std::string_view line) {
  auto const first = line.find(':');
  auto const second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) return {};
  std::string controllers = ",";  // not a sum, about which g++ 12 warns wrongly
  controllers += line.substr(first + 1, second - first - 1);
  controllers += ",";
  bool const unified = line.substr(0, first) == "0" && controllers == ",,";
  return unified || controllers.find(",cpu,") != std::string::npos ? std::string(line.substr(second + 1))
                                                                   : std::string();
}

/// The tightest CPU quota of this process' control groups; 0 when there is none.
inline double quota_of_this_process() {
  double tightest = 0;
  std::FILE* const file = std::fopen("/proc/self/cgroup", "re");
  if (!file) return 0;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, file)) {
    std::string line = buffer;
    while (!line.empty() && line.back() == '\n') line.pop_back();
    std::string const group = cpu_group(line);
    if (group.empty()) continue;
    for (char const* const root : {"/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"}) {
      double const limit = group_processors(root, group);
      if (limit > 0) tightest = tightest > 0 ? std::min(tightest, limit) : limit;
    }
  }
  std::fclose(file);
  return tightest;
}

/// Processors that the main thread of this process may run on, or the calling thread where only its own are known. The
/// main thread decides, because the first caller of a pool may be a thread that is pinned to one processor.
inline int affinity_processors() {
#if defined(__linux__)
  for (int processors = 1024; processors <= 1 << 18; processors *= 2) {  // until the kernel's mask fits
    cpu_set_t* const set = CPU_ALLOC(static_cast<std::size_t>(processors));
    if (!set) break;
    std::size_t const bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(processors));
    bool const read = sched_getaffinity(getpid(), bytes, set) == 0;
    int const count = read ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace detail

/// Threads that can run at the same time: processors in the affinity mask of its main thread, at most the CPU quota of
/// the control groups, rounded up. At least 1. Reads /proc and /sys at each call.
inline int available_processors() {
  int const allowed = detail::affinity_processors();
  double const quota = detail::quota_of_this_process();
  return quota > 0 ? static_cast<int>(std::clamp(std::ceil(quota), 1.0, static_cast<double>(allowed))) : allowed;
}

}  // namespace mbirk::exec
