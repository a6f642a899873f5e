#include "machine/evidence.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "machine/pinning.hpp"
#include "machine/process_status.hpp"
#include "mbirk/exec/thread_pool.hpp"
#include "mbirk/io/folder.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

evidence_reader::evidence_reader(fs::path root, std::vector<int> processors)
    : root_(std::move(root)), processors_(processors.empty() ? allowed_processors() : std::move(processors)) {}

evidence_reader::snapshot evidence_reader::read() const {
  snapshot s;
  s.wall = wall_seconds();
  s.processor = processor_seconds();
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) s.involuntary = usage.ru_nivcsw;
  s.limited_loops = exec::detail::process_pool().limited_loops();
  auto const threads = root_ / "proc/self/task";
  std::error_code ended;
  for (auto const& thread : detail::names_in(threads, ended)) {
    // Nanoseconds on a processor, nanoseconds of waiting for one, how often it got one.
    double ran = 0, waited = 0;
    std::int64_t times = 0;
    if (std::ifstream(threads / thread / "schedstat") >> ran >> waited >> times)
      s.threads[thread] = {1e-9 * waited, times};
  }
  // "cpu0 user nice system idle iowait irq softirq steal ...", in ticks
  std::ifstream stat(root_ / "proc/stat");
  for (std::string line; std::getline(stat, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(3));
    int processor = 0;
    double ticks = 0;
    if (line[3] == ' ' || !(words >> processor)) continue;
    for (int k = 0; k < 8; ++k) words >> ticks;
    if (words && std::find(processors_.begin(), processors_.end(), processor) != processors_.end())
      s.stolen[processor] = ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  return s;
}

void evidence_reader::start() {
  before_ = read();
  before_.processor = processor_seconds();
  before_.wall = wall_seconds();
}

bool evidence_reader::others_are_runnable() const {
  auto const self = std::to_string(::gettid());
  auto const threads = root_ / "proc/self/task";
  std::error_code ended;
  for (auto const& thread : detail::names_in(threads, ended)) {
    std::string stat;
    if (thread == self || !std::getline(std::ifstream(threads / thread / "stat"), stat)) continue;
    // "number (name) state ...", where the name may contain anything
    if (auto const name = stat.rfind(')'); name != stat.npos && stat.substr(name).starts_with(") R")) return true;
  }
  return false;
}

profile::evidence evidence_reader::finish() const {
  double const wall = wall_seconds(), processor = processor_seconds(), patience = 0.01;
  bool waiting_still = others_are_runnable();
  while (waiting_still && wall_seconds() < wall + patience) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    waiting_still = others_are_runnable();
  }
  auto const after = read();
  profile::evidence e{.wall = wall - before_.wall,
                      .processor = processor - before_.processor,
                      .involuntary = after.involuntary - before_.involuntary,
                      .limited_loops = after.limited_loops - before_.limited_loops,
                      .frequency = frequency()};
  profile::disturbance_rules const rules;
  double worst = 0;
  for (auto const& [thread, now] : after.threads) {
    auto const old = before_.threads.find(thread);
    auto const then = old == before_.threads.end() ? waiting{} : old->second;
    double const waited = now.seconds - then.seconds;
    auto const times = now.times - then.times;
    double const excess = waited - static_cast<double>(times) * rules.waking;
    if (e.waited && excess <= worst) continue;
    e.waited = waited;
    e.waits = times;
    worst = excess;
  }
  if (waiting_still && e.waited.value_or(0) < patience) e.waited = patience;
  for (auto const& [number, now] : after.stolen)
    if (auto const old = before_.stolen.find(number); old != before_.stolen.end())
      e.stolen = std::max(e.stolen.value_or(0), now - old->second);
  return e;
}

std::optional<double> evidence_reader::frequency() const {
  std::ifstream file(root_ / "sys/devices/system/cpu" / ("cpu" + std::to_string(std::max(0, ::sched_getcpu()))) /
                     "cpufreq/scaling_cur_freq");
  double kilohertz = 0;
  return file >> kilohertz ? std::optional(1e3 * kilohertz) : std::nullopt;
}

std::string evidence_reader::missing() const {
  if (!read().threads.empty()) return {};
  return "cannot tell directly whether times were disturbed: this system does not report how long threads wait "
         "(/proc/self/task/*/schedstat); switches, stolen time and the spread of the times have to do";
}

std::string load_average() {
  std::string a, b, c;
  std::ifstream("/proc/loadavg") >> a >> b >> c;
  return c.empty() ? "" : a + ' ' + b + ' ' + c;
}

}  // namespace mbirk::program
