#include "machine/process_status.hpp"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>

#include "mbirk/core/error.hpp"
#include "mbirk/io/folder.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

std::string text_of(fs::path const& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Parses a `stat` file: the name in parentheses, which may contain any characters, and user and system time in fields
/// 14 and 15.
thread_status thread_of(std::string const& stat) {
  thread_status t;
  auto const open = stat.find('('), close = stat.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return t;
  t.name = stat.substr(open + 1, close - open - 1);
  std::istringstream fields(stat.substr(close + 1));
  std::string skipped;
  for (int k = 3; k < 14; ++k) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  t.seconds = (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return t;
}

}  // namespace

std::optional<process_status> read_process(std::int64_t process) {
  fs::path const folder = fs::path("/proc") / std::to_string(process);
  auto const stat = text_of(folder / "stat");
  if (stat.empty()) return {};
  process_status p;
  p.seconds = thread_of(stat).seconds;
  p.command_line = text_of(folder / "cmdline");
  while (!p.command_line.empty() && p.command_line.back() == '\0') p.command_line.pop_back();
  std::replace_if(
      p.command_line.begin(), p.command_line.end(), [](unsigned char c) { return c < ' ' || c == 127; }, ' ');
  std::istringstream lines(text_of(folder / "status"));
  for (std::string line; std::getline(lines, line);)
    for (auto const& [name, to] : {std::pair("VmRSS:", &p.resident), {"VmHWM:", &p.resident_peak}})
      if (line.starts_with(name)) *to = 1024 * std::strtoll(line.c_str() + 6, nullptr, 10);
  std::error_code ended;
  for (auto const& thread : detail::names_in(folder / "task", ended)) {
    auto t = thread_of(text_of(folder / "task" / thread / "stat"));
    t.id = std::strtoll(thread.c_str(), nullptr, 10);
    p.threads.push_back(std::move(t));
  }
  std::sort(p.threads.begin(), p.threads.end(), [](auto const& a, auto const& b) { return a.id < b.id; });
  return p;
}

std::optional<std::int64_t> resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  if (!(file >> all >> resident)) return {};
  return resident * ::sysconf(_SC_PAGESIZE);
}

double required_resident_bytes() {
  auto const bytes = resident_bytes();
  require<io_error>(bytes.has_value(), [] {
    return std::string("/proc/self/statm: cannot be read, expected the memory that this program takes");
  });
  return static_cast<double>(*bytes);
}

double processor_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace mbirk::program
