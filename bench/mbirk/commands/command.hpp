// What the commands of the program share: how they are added, the options that all of them have, and their exit codes.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "mbirk/core/error.hpp"
#include "operations/common_options.hpp"

namespace mbirk::program {

/// done: 0. A check or comparison failed, or a reconstruction was interrupted: 1. Bad usage or input: 2, said in one line. The policy is not available here: 3.
enum exit_code { done = 0, check_failed = 1, bad_input = 2, not_available = 3 };

/// Ends the program with exit code 1: what was run is wrong, not what it was given.
struct failed_check : error { using error::error; };

/// What the command line asked for; main runs it after parsing, so that a wrong command line starts nothing.
using chosen_command = std::function<int()>;

inline void add_common_options(CLI::App& command, common_options& options) {
  command.add_option("--policy", options.policy, "Where operations run: host, cuda or emulated")
      ->check(CLI::IsMember({"host", "cuda", "emulated"}))
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--threads", options.threads, "How many threads at most, 1 to 4096 (default: all)")->check(CLI::Range(1, 4096))->type_name("N");
  command.add_flag("--quiet", options.quiet, "No progress, no notes: errors and what was asked for only");
}

/// @throws unavailable_error when a command that runs on the host only was given another policy.
inline void require_host(common_options const& options, char const* command) {
  require<unavailable_error>(options.policy == "host", [&] {
    return "policy " + options.policy + " is not available here: mbirk " + command + " runs on the host only, expected host";
  });
}

void add_ops_command(CLI::App& app, chosen_command& chosen);
void add_run_command(CLI::App& app, chosen_command& chosen);
void add_profile_command(CLI::App& app, chosen_command& chosen);
void add_compare_command(CLI::App& app, chosen_command& chosen);
void add_report_command(CLI::App& app, chosen_command& chosen);
void add_estimate_command(CLI::App& app, chosen_command& chosen);
void add_bench_command(CLI::App& app, chosen_command& chosen);
void add_recon_command(CLI::App& app, chosen_command& chosen);
void add_top_command(CLI::App& app, chosen_command& chosen);

}  // namespace mbirk::program
