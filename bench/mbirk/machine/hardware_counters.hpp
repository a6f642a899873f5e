// Hardware counters of the processor (perf_event_open) and energy (RAPL), where the system permits them.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mbirk::program {

/// Value of a counter. The kernel lets counters take turns if there are too few of them; it then counted for only
/// `running` of `enabled` nanoseconds.
struct counter_value {
  std::uint64_t count = 0, enabled = 0, running = 0;
};

/// The system calls, which a test replaces.
struct counter_system {
  std::filesystem::path root = "/";  ///< folder that contains /proc and /sys
  /// Opens a counter of a thread on all processors, or (thread -1) of a processor; a file descriptor or -errno.
  std::function<int(perf_event_attr const&, int thread, int processor)> open;
  std::function<bool(int file, counter_value&)> read;
  std::function<void(int file)> close;

  static counter_system of_this_machine();
};

/// Counts of user code of this process and the threads that it starts later; DRAM bytes and joules of the whole
/// machine.
class hardware_counters {
 public:
  explicit hardware_counters(counter_system system = counter_system::of_this_machine());
  hardware_counters(hardware_counters const&) = delete;
  hardware_counters& operator=(hardware_counters const&) = delete;
  ~hardware_counters();

  /// Also counts the joules of a meter as "joules NAME"; an empty reading counts nothing.
  void add_meter(std::string name, std::function<std::optional<double>()> joules);

  void start();
  /// The counts since start(): "instructions", "cycles", "cache misses", "DRAM bytes", "joules package-0", ...
  std::map<std::string, double> finish() const;

  /// One line that says which counters cannot be had, and why; empty if all can.
  std::string const& missing() const noexcept { return missing_; }

 private:
  struct counter {
    std::string name;
    double scale;
    int file;
  };
  struct energy_zone {
    std::string name;
    std::filesystem::path folder;
    double range;  ///< microjoules at which the counter starts again
  };
  struct energy_meter {
    std::string name;
    std::function<std::optional<double>()> joules;
    std::optional<double> before = {};
  };
  void open_core_counters();
  void open_memory_counters();
  void find_energy();
  void note(std::string const& what);
  std::string why_not(int error) const;
  std::vector<double> read_counters() const;
  std::vector<double> read_energy() const;

  counter_system system_;
  std::vector<counter> counters_;
  std::vector<energy_zone> zones_;
  std::vector<energy_meter> meters_;
  std::vector<double> counts_before_, energy_before_;
  std::string missing_;
};

}  // namespace mbirk::program
