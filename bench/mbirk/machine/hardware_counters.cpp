#include "machine/hardware_counters.hpp"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "mbirk/io/folder.hpp"

namespace mbirk::program {
namespace {

namespace fs = std::filesystem;

std::string first_word(fs::path const& path) {
  std::string word;
  std::ifstream(path) >> word;
  return word;
}
std::optional<double> number_in(fs::path const& path) {
  double x = 0;
  return std::ifstream(path) >> x ? std::optional(x) : std::nullopt;
}

/// Folders in `at` whose names begin with `start`, in order of their names.
std::vector<fs::path> folders(fs::path const& at, std::string const& start) {
  std::vector<fs::path> found;
  std::error_code ended;
  for (auto const& name : detail::names_in(at, ended))
    if (name.starts_with(start)) found.push_back(at / name);
  return found;
}

perf_event_attr attributes(std::uint32_t type, std::uint64_t config) {
  perf_event_attr a{};
  a.size = sizeof a;
  a.type = type;
  a.config = config;
  a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return a;
}

/// The configuration of an event that a driver describes as "event=0x04,umask=0x03", where each term has its bits in a
/// file "config:8-15".
std::optional<std::uint64_t> config_of(fs::path const& device, std::string const& event) {
  std::istringstream terms(first_word(device / "events" / event));
  std::uint64_t config = 0;
  bool any = false;
  for (std::string term; std::getline(terms, term, ','); any = true) {
    auto const equals = term.find('=');
    auto const bits = first_word(device / "format" / term.substr(0, equals));
    if (!bits.starts_with("config:")) return std::nullopt;
    auto const value = equals == term.npos ? 1 : std::strtoull(term.c_str() + equals + 1, nullptr, 0);
    config |= value << std::strtoul(bits.c_str() + std::strlen("config:"), nullptr, 10);
  }
  return any ? std::optional(config) : std::nullopt;
}

}  // namespace

counter_system counter_system::of_this_machine() {
  return {.open =
              [](perf_event_attr const& what, int thread, int processor) {
                auto a = what;
                auto const file = ::syscall(SYS_perf_event_open, &a, thread, processor, -1, PERF_FLAG_FD_CLOEXEC);
                return file < 0 ? -errno : static_cast<int>(file);
              },
          .read = [](int file, counter_value& to) { return ::read(file, &to, sizeof to) == sizeof to; },
          .close = [](int file) { ::close(file); }};
}

hardware_counters::hardware_counters(counter_system system) : system_(std::move(system)) {
  open_core_counters();
  open_memory_counters();
  find_energy();
}

hardware_counters::~hardware_counters() {
  for (auto const& c : counters_) system_.close(c.file);
}

void hardware_counters::note(std::string const& what) { missing_ += (missing_.empty() ? "" : "; ") + what; }

std::string hardware_counters::why_not(int error) const {
  auto const paranoid = first_word(system_.root / "proc/sys/kernel/perf_event_paranoid");
  if (error == EACCES || error == EPERM)
    return fmt::format("perf_event_open is not permitted, perf_event_paranoid is {}",
                       paranoid.empty() ? "unknown" : paranoid);
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
    return "the processor offers none, as in many virtual machines";
  return std::string("perf_event_open failed: ") + std::strerror(error);
}

void hardware_counters::open_core_counters() {
  struct event {
    char const* name;
    std::uint64_t config;
  };
  for (auto const& [name, config] : {event{"instructions", PERF_COUNT_HW_INSTRUCTIONS},
                                     {"cycles", PERF_COUNT_HW_CPU_CYCLES},
                                     {"cache misses", PERF_COUNT_HW_CACHE_MISSES}}) {
    auto a = attributes(PERF_TYPE_HARDWARE, config);
    a.inherit = 1;
    a.exclude_kernel = 1;
    a.exclude_hv = 1;
    for (auto const& task : folders(system_.root / "proc/self/task", "")) {
      int const file = system_.open(a, std::atoi(task.filename().c_str()), -1);
      if (file < 0) return note("no hardware counters: " + why_not(-file));
      counters_.push_back({name, 1, file});
    }
  }
}

void hardware_counters::open_memory_counters() {
  auto const devices = folders(system_.root / "sys/bus/event_source/devices", "uncore_imc");
  std::size_t opened = 0;
  for (auto const& device : devices)
    for (char const* const event : {"cas_count_read", "cas_count_write", "data_reads", "data_writes"}) {
      auto const config = config_of(device, event);
      auto const type = number_in(device / "type"), processor = number_in(device / "cpumask");
      auto const scale = number_in(device / "events" / (std::string(event) + ".scale"));
      if (!config || !type || !scale) continue;
      int const file = system_.open(attributes(static_cast<std::uint32_t>(*type), *config), -1,
                                    static_cast<int>(processor.value_or(0)));
      if (file < 0) return note("no counter of DRAM bytes: " + why_not(-file));
      counters_.push_back({"DRAM bytes", *scale * 1048576, file});  // the unit is MiB
      ++opened;
    }
  if (opened == 0) note("no counter of DRAM bytes: the kernel lists no uncore_imc");
}

void hardware_counters::find_energy() {
  auto const zones = folders(system_.root / "sys/class/powercap", "intel-rapl:");
  for (auto const& zone : zones) {
    if (!number_in(zone / "energy_uj")) return note((zone / "energy_uj").string() + " cannot be read, so no energy");
    // Each package has a zone "core", so the name of the folder makes it unique.
    auto const number = zone.filename().string().substr(std::strlen("intel-rapl:"));
    auto const name = first_word(zone / "name");
    zones_.push_back({name.starts_with("package-") ? name : name + ' ' + number, zone,
                      number_in(zone / "max_energy_range_uj").value_or(0)});
  }
  if (zones.empty()) note("no energy: the kernel lists no intel-rapl");
}

std::vector<double> hardware_counters::read_counters() const {
  std::vector<double> all;
  for (auto const& c : counters_) {
    counter_value v;
    bool const known = system_.read(c.file, v) && v.running > 0;
    auto const turns = known ? static_cast<double>(v.enabled) / static_cast<double>(v.running) : 0;
    all.push_back(c.scale * static_cast<double>(v.count) * turns);
  }
  return all;
}

std::vector<double> hardware_counters::read_energy() const {
  std::vector<double> all;
  for (auto const& zone : zones_) all.push_back(number_in(zone.folder / "energy_uj").value_or(0));
  return all;
}

void hardware_counters::add_meter(std::string name, std::function<std::optional<double>()> joules) {
  meters_.push_back({std::move(name), std::move(joules)});
}

void hardware_counters::start() {
  for (auto& meter : meters_) meter.before = meter.joules();
  energy_before_ = read_energy();
  counts_before_ = read_counters();
}

std::map<std::string, double> hardware_counters::finish() const {
  std::map<std::string, double> all;
  auto const counts = read_counters(), energy = read_energy();
  for (std::size_t k = 0; k < counts.size(); ++k) all[counters_[k].name] += counts[k] - counts_before_[k];
  for (std::size_t k = 0; k < zones_.size(); ++k) {
    double const used = energy[k] - energy_before_[k];
    all["joules " + zones_[k].name] = 1e-6 * (used < 0 ? used + zones_[k].range : used);
  }
  for (auto const& meter : meters_)
    if (auto const now = meter.joules(); now && meter.before) all["joules " + meter.name] = *now - *meter.before;
  return all;
}

}  // namespace mbirk::program
