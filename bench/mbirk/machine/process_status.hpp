// What Linux says of a process: memory, threads, processor time. Read from /proc, without privileges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mbirk::program {

struct thread_status {
  std::int64_t id = 0;
  std::string name;
  double seconds = 0;  ///< of processor time since its start
};
struct process_status {
  std::string command_line;  ///< words between spaces
  std::int64_t resident = 0, resident_peak = 0;  ///< bytes
  double seconds = 0;  ///< of processor time since its start, threads that have ended included
  std::vector<thread_status> threads;
};

/// Nothing when there is no such process.
std::optional<process_status> read_process(std::int64_t process);
/// Bytes of this process that are in memory; 0 where /proc does not tell.
std::int64_t resident_bytes();
/// Seconds of processor time that all threads of this process have used.
double processor_seconds();

}  // namespace mbirk::program
