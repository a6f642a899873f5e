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

  bool given() const { return iterations > 0 || !devices.empty(); }
  /// @throws io_error, in one line, when a file is malformed.
  candidate_settings settings() const {
    candidate_settings s{.devices = devices_with(devices)};
    if (iterations > 0) s.iterations = iterations;
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
      .add_option("--iterations-per-transfer", options.iterations,
                  "Number of iterations for which an FPGA receives the arrays of a reconstruction once (default: 15)")
      ->check(CLI::Range(1, 1'000'000))
      ->type_name("N");
}

}  // namespace mbirk::program
