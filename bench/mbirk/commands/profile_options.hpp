// Options of mbirk profile.
#pragma once

#include <string>
#include <vector>

#include "commands/candidate_options.hpp"
#include "commands/command.hpp"
#include "commands/pin_option.hpp"
#include "commands/run_watch.hpp"
#include "output/trace_file.hpp"

namespace mbirk::program {

struct profile_options {
  common_options common;
  std::vector<index_t> sizes{32, 64, 128, 256};
  CLI::Option const* sizes_option = nullptr;
  int runs = 3;
  CLI::Option const* runs_option = nullptr;
  double budget = 0;  ///< seconds of all timed calls; 0: the default
  pin_option pin;
  std::string ops = "*";
  std::string out = "output";
  std::size_t trace_events = program::trace_events;
  candidate_options judged;
  monitor_options monitor;
  int recon_iterations = 15;  ///< of the whole reconstructions; 0: none
  index_t recon_size = 0;     ///< 0: the largest size up to 128, without --sizes up to 64
  std::string words_from;  ///< a sinogram of the user's; empty: none
  bool no_graphs = false, no_handoff = false, no_tables = false, no_heap = false;
  bool cupti = false, profiler_range = false, graph_steps = false, no_fuse = false;

  /// @throws unavailable_error, parameter_error, in one line, for options that contradict each other.
  void check() const;
  /// The size of the whole reconstructions.
  index_t reconstruction_size() const;
  bool traces() const { return runs >= 2; }
  /// Sizes that were asked for are measured completely, the default ones as far as a few minutes allow.
  bool all_of_each_size() const { return sizes_option->count() > 0; }
  /// Timed calls are repeated until they suffice. --runs asks for a number instead, and a profiler that watches from
  /// outside changes times anyway.
  bool in_rounds() const { return runs_option->count() == 0 && !profiler_range; }
};

void add_profile_options(CLI::App& command, profile_options& options);

}  // namespace mbirk::program
