#include "commands/run_watch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "commands/command.hpp"
#include "machine/process_status.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

using instrument::live_sites;

/// Quotes a text field; quotation marks are doubled.
std::string csv_text(std::string const& text) {
  std::string out = "\"";
  for (char const c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + '"';
}
template <class T> std::string field(std::optional<T> const& value) { return value ? fmt::format(",{}", *value) : ","; }

}  // namespace

void add_monitor_options(CLI::App& command, monitor_options& options) {
  auto* const file =
      command.add_option("--monitor", options.file, "Write a CSV log of memory, threads and devices to this file")
          ->type_name("FILE");
  command.add_option("--monitor-interval", options.interval, "Seconds between lines of --monitor")
      ->needs(file)->check(number_between(0.001, 3600))->type_name("S")->capture_default_str();
}

run_watch::run_watch(char const* command, monitor_options const& options, bool quiet)
    : started_(live_sites::now()), last_time_(started_), last_seconds_(processor_seconds()) {
  try {
    page_.emplace(command);
  } catch (io_error const& e) {
    if (!quiet) note("mbirk top will not see this process: {}", e.what());
  }
  if (options.file.empty()) return;
  log_.emplace(options.file);
  devices_.emplace();
  std::string header = "time_s,live_bytes,resident_bytes,threads_busy,step";
  for (std::size_t k = 0; k < devices_->count(); ++k)
    header += fmt::format(
        ",gpu{0}_process_bytes,gpu{0}_used_bytes,gpu{0}_utilisation_percent,gpu{0}_clock_mhz,gpu{0}_memory_clock_mhz,"
        "gpu{0}_power_w",
        k);
  log_->write(header + '\n');
  sampler_ = std::jthread([this, interval = options.interval](std::stop_token const& stop) { run(stop, interval); });
}

void run_watch::step(std::string_view text) {
  memory().step(text);
  std::lock_guard const lock(mutex_);
  step_ = text;
}

void run_watch::run(std::stop_token const& stop, double interval) {
  auto next = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested() && !failure_) {
    take_sample();
    // Late samples are skipped.
    next = std::max(next + std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * interval)),
                    std::chrono::steady_clock::now());
    stopped_.wait_until(lock, stop, next, [] { return false; });
  }
}

void run_watch::take_sample() noexcept try {
  auto const devices = devices_->devices(::getpid());
  auto const resident = resident_bytes().value_or(0);
  auto const now = live_sites::now();
  double const seconds = processor_seconds();
  double const busy = now > last_time_ ? (seconds - last_seconds_) / (1e-9 * static_cast<double>(now - last_time_)) : 0;
  last_time_ = now;
  last_seconds_ = seconds;
  write_line(1e-9 * static_cast<double>(now - started_), busy, resident, devices);
  if (trace_) add_counters(busy, resident, devices);
} catch (...) {
  failure_ = std::current_exception();
}

void run_watch::write_line(double time, double busy, std::int64_t resident, std::vector<device_status> const& devices) {
  auto line = fmt::format("{:.6f},{},{},{:.3f},{}", time, memory().live_bytes(), resident, busy, csv_text(step_));
  for (auto const& d : devices)
    line += field(d.memory_of_process) + field(d.memory_used) + field(d.utilisation) + field(d.clock) +
            field(d.memory_clock) + field(d.power);
  log_->write(line + '\n');
}

void run_watch::add_counters(double busy, std::int64_t resident, std::vector<device_status> const& devices) {
  auto const at = trace_->now();
  auto const add = [&](std::string const& name, auto value) {
    trace_->add({trace_->text(name), instrument::event_kind::counter, at, at, static_cast<index_t>(value)});
  };
  add("announced bytes", memory().live_bytes());
  add("resident bytes", resident);
  add("processor percent", 100 * busy);
  for (std::size_t k = 0; k < devices.size(); ++k) {
    auto const& d = devices[k];
    auto const name = "gpu " + std::to_string(k);
    if (d.memory_of_process) add(name + " bytes of process", *d.memory_of_process);
    if (d.memory_used) add(name + " bytes", *d.memory_used);
    if (d.utilisation) add(name + " percent", *d.utilisation);
    if (d.clock) add(name + " MHz", *d.clock);
    if (d.power) add(name + " milliwatts", 1000 * *d.power);
  }
}

void run_watch::sample_into(instrument::trace_buffer* trace) {
  if (!log_ || trace == trace_) return;
  std::lock_guard const lock(mutex_);
  if (trace) trace_ = trace;
  if (!failure_) take_sample();
  trace_ = trace;
}

void run_watch::finish() {
  if (!log_) return;
  sampler_ = {};  // requests the stop, and waits
  if (!failure_) take_sample();
  if (failure_) std::rethrow_exception(failure_);
  log_->commit();
}

}  // namespace mbirk::program
