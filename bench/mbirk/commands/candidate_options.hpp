// Command-line options of the candidate model, for the commands that judge candidates.
#pragma once

#include <string>
#include <vector>

#include "commands/command.hpp"
#include "fpga/candidates.hpp"

namespace mbirk::program {

struct candidate_options {
  std::vector<std::string> devices;
  int iterations = 0;  ///< 0: not specified
  std::vector<std::string> against;  ///< empty: not specified

  bool given() const { return iterations > 0 || !devices.empty() || !against.empty(); }
  /// @throws io_error, parameter_error, in one line, when a file is malformed or a name is not known.
  candidate_settings settings() const {
    candidate_settings s{.devices = devices_with(devices)};
    if (iterations > 0) s.iterations = iterations;
    s.compare_with(against.empty() ? std::vector<std::string>{"all"} : against);
    return s;
  }
};

inline void add_candidate_options(CLI::App& command, candidate_options& options) {
  command
      .add_option("--device", options.devices,
                  "JSON file of an additional device (docs/fpga.md); may be repeated")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      .add_option(
          "--against", options.against,
          "What you have or could buy, which an FPGA has to beat: all, host, or GPUs such as h100 (default: all); a "
          "GPU of docs/gpu.md that all does not include is added when it is named")
      ->delimiter(',')
      ->type_name("NAME,...");
  command
      .add_option("--iterations-per-transfer", options.iterations,
                  "Number of iterations for which an FPGA receives the arrays of a reconstruction once (default: 15)")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
}

}  // namespace mbirk::program
