// Common parts of the program's commands: how they are added, their shared options, and their exit codes.
#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "mbirk/core/error.hpp"
#include "operations/common_options.hpp"

namespace mbirk::program {

/// done: success. check_failed: a check or comparison failed, or a reconstruction was interrupted. bad_input: bad usage
/// or input, reported in one line. not_available: the policy is not available here.
enum exit_code { done = 0, check_failed = 1, bad_input = 2, not_available = 3 };

/// Ends the program with exit code 1: the result is wrong, but the input was valid.
struct failed_check : error { using error::error; };

/// The command chosen on the command line; main runs it after parsing, so that a wrong command line starts nothing.
using chosen_command = std::function<int()>;

/// @param on_devices  whether the command can run operations on devices
inline void add_common_options(CLI::App& command, common_options& options, bool on_devices = false) {
#if defined(MBIRK_WITH_CUDA)
  constexpr char const* all_built = "{host,cuda,emulated}";
#else
  constexpr char const* all_built = "{host,emulated}";
#endif
  // Help shows what can work here; the other names end with another exit code than misspelt ones.
  auto known = CLI::IsMember({"host", "cuda", "emulated"});
  known.description(on_devices ? all_built : "{host}");
  command.add_option("--policy", options.policy, "Where operations run")
      ->check(known)
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--threads", options.threads, "Maximum number of threads, 1 to 4096 (default: all)")
      ->check(CLI::Range(1, 4096))
      ->type_name("N");
  command.add_flag("--quiet", options.quiet, "Print only errors and the requested output: no progress, no notes");
}

/// Accepts numbers from low to high; CLI::Range accepts NaN as well.
inline CLI::Validator number_between(double low, double high) {
  auto const test = [low, high](std::string const& text) {
    double x = 0;
    return CLI::detail::lexical_cast(text, x) && x >= low && x <= high
               ? std::string()
               : fmt::format("Value {} not in range [{} - {}]", text, low, high);
  };
  return CLI::Validator(test, fmt::format("FLOAT in [{} - {}]", low, high));
}
inline CLI::Validator positive_number() {
  auto const test = [](std::string const& text) {
    double x = 0;
    return CLI::detail::lexical_cast(text, x) && x > 0 && std::isfinite(x) ? std::string()
                                                                           : "Number less or equal to 0: " + text;
  };
  return CLI::Validator(test, "POSITIVE");
}
/// Refuses a minus sign, because CLI::AsSizeValue makes -1 a number of 64 bits.
inline CLI::Validator not_negative() {
  auto const test = [](std::string const& text) {
    return text.find('-') == text.npos ? std::string() : text + ": expected a size without sign";
  };
  return CLI::Validator(test, "");
}

inline void add_memory_limit(CLI::App& command, std::optional<std::uint64_t>& limit, char const* text) {
  command.add_option("--memory-limit", limit, text)
      ->transform(CLI::AsSizeValue(false))
      ->transform(not_negative())  // runs first
      ->type_name("BYTES");
}

/// @throws unavailable_error when a host-only command is given another policy.
inline void require_host(common_options const& options, char const* command) {
  require<unavailable_error>(options.policy == "host", [&] {
    return "policy " + options.policy + " is not available here: mbirk " + command +
           " runs on the host only, expected host";
  });
}

void add_ops_command(CLI::App& app, chosen_command& chosen);
void add_run_command(CLI::App& app, chosen_command& chosen);
void add_profile_command(CLI::App& app, chosen_command& chosen);
void add_compare_command(CLI::App& app, chosen_command& chosen);
void add_report_command(CLI::App& app, chosen_command& chosen);
void add_estimate_command(CLI::App& app, chosen_command& chosen);
void add_bench_command(CLI::App& app, chosen_command& chosen);
void add_info_command(CLI::App& app, chosen_command& chosen);
void add_prepare_command(CLI::App& app, chosen_command& chosen);
void add_calibrate_command(CLI::App& app, chosen_command& chosen);
void add_recon_command(CLI::App& app, chosen_command& chosen);
void add_top_command(CLI::App& app, chosen_command& chosen);

}  // namespace mbirk::program
