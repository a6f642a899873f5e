// Status of a Linux process: memory, threads, processor time. Read from /proc, without privileges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mbirk::program {

struct thread_status {
  std::int64_t id = 0;
  std::string name;
  double seconds = 0;  ///< processor time since its start
};
struct process_status {
  std::string command_line;  ///< words separated by spaces
  std::int64_t resident = 0, resident_peak = 0;  ///< bytes
  double seconds = 0;  ///< processor time since its start, including threads that have ended
  std::vector<thread_status> threads;
};

/// Returns nothing if the process does not exist.
std::optional<process_status> read_process(std::int64_t process);
/// Bytes of this process that are in memory, if /proc reports them.
std::optional<std::int64_t> resident_bytes();
/// The same, for plans that depend on it. @throws io_error if /proc does not report them
double required_resident_bytes();
/// Processor time in seconds used by all threads of this process.
double processor_seconds();

}  // namespace mbirk::program
