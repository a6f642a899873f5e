// Evidence that other programs disturbed a measurement, from /proc and /sys.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mbirk/profile/disturbance.hpp"

namespace mbirk::program {

class evidence_reader {
 public:
  /// @param root        folder that contains /proc and /sys
  /// @param processors  those whose stolen time and frequency count
  explicit evidence_reader(std::filesystem::path root = "/", std::vector<int> processors = {});

  void start();
  /// Evidence since start(). The clocks are read first, so that reading the files does not count. The system reports
  /// the waiting of a thread only when it gets a processor, so this sleeps until no other thread is runnable, at most
  /// ten milliseconds, which count as waited if one still is.
  profile::evidence finish() const;

  /// One sentence if the system does not report how long threads wait for processors; otherwise empty.
  std::string missing() const;

 private:
  struct waiting {
    double seconds = 0;
    std::int64_t times = 0;
  };
  struct snapshot {
    double wall = 0, processor = 0;
    std::int64_t involuntary = 0, limited_loops = 0;
    std::map<std::string, waiting> threads;  ///< by number of the thread
    std::map<int, double> stolen;            ///< by processor
  };
  snapshot read() const;
  bool others_are_runnable() const;
  std::optional<double> frequency() const;

  std::filesystem::path root_;
  std::vector<int> processors_;
  snapshot before_;
};

/// Load averages of 1, 5 and 15 minutes from /proc/loadavg; empty if it does not exist.
std::string load_average();

}  // namespace mbirk::program
