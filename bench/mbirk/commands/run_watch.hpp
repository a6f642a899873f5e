// Visibility of a long command: its live memory for `mbirk top`; with --monitor a log of samples, and counter tracks of
// a trace.
#pragma once

#include <CLI/CLI.hpp>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "machine/nvml.hpp"
#include "mbirk/instrument/live.hpp"
#include "mbirk/instrument/trace.hpp"
#include "mbirk/io/output_file.hpp"
#include "mbirk/profile/live_memory.hpp"

namespace mbirk::program {

struct monitor_options {
  std::string file;
  double interval = 0.1;  ///< seconds
};
void add_monitor_options(CLI::App& command, monitor_options& options);

/// Create it after the command line has been checked and before the work. Its sampling thread ends with it, however the
/// work ends.
class run_watch {
 public:
  /// Unless quiet, prints a note when other processes cannot see this one.
  /// @throws io_error when the log cannot be written.
  run_watch(char const* command, monitor_options const& options, bool quiet);
  run_watch(run_watch const&) = delete;
  run_watch& operator=(run_watch const&) = delete;

  /// Receives announcements of arrays and scopes.
  instrument::live_sites& memory() noexcept { return page_ ? page_->sites() : own_; }
  /// Sets the description of the current step, for users.
  void step(std::string_view text);

  /// During its lifetime, each sample is also written to the trace; one sample is taken at construction and one at
  /// destruction. Does nothing without --monitor.
  class counters {
   public:
    counters(run_watch& watch, instrument::trace_buffer* into) : watch_(watch) { watch_.sample_into(into); }
    ~counters() { watch_.sample_into(nullptr); }
    counters(counters const&) = delete;
    counters& operator=(counters const&) = delete;

   private:
    run_watch& watch_;
  };

  /// Takes the last sample and renames the log to its final name; without this call there is no log.
  /// @throws io_error
  void finish();

 private:
  void sample_into(instrument::trace_buffer* trace);
  void run(std::stop_token const& stop, double interval);
  void take_sample() noexcept;  ///< requires the lock
  void write_line(double time, double busy, std::int64_t resident, std::vector<device_status> const& devices);
  void add_counters(double busy, std::int64_t resident, std::vector<device_status> const& devices);

  std::optional<profile::live_publication> page_;
  instrument::live_sites own_;
  std::optional<nvml> devices_;
  std::optional<output_file> log_;
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::exception_ptr failure_;
  std::string step_;
  instrument::trace_buffer* trace_ = nullptr;
  std::int64_t started_, last_time_;
  double last_seconds_;
  std::jthread sampler_;  // last member: it is joined before the members that it uses are destroyed
};

/// Announces arrays that the program itself holds, during its lifetime.
class held_arrays {
 public:
  explicit held_arrays(instrument::live_sites& into) : into_(into) {}
  ~held_arrays() {
    for (auto const& [name, bytes] : arrays_) into_.released(name, bytes);
  }
  held_arrays(held_arrays const&) = delete;
  held_arrays& operator=(held_arrays const&) = delete;

  void add(std::string name, std::size_t bytes) {
    arrays_.emplace_back(std::move(name), static_cast<index_t>(bytes));
    into_.allocated(arrays_.back().first, arrays_.back().second);
  }
  /// Adds the arrays of an operation (see operations.hpp).
  template <class Operands> void add_operands(Operands const& x) {
    auto const bytes = [](auto const& array) { return array.data.size() * sizeof array.data[0]; };
    for (auto const& [name, array] : x.inputs) add(name, std::visit(bytes, array));
    add("the result", std::visit(bytes, x.output));
  }

 private:
  instrument::live_sites& into_;
  std::vector<std::pair<std::string, index_t>> arrays_;
};

}  // namespace mbirk::program
