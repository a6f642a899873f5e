// Judges which operations of a profile deserve an FPGA: applies the model of profile/candidate.hpp to the output of
// `mbirk profile`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fpga/device_file.hpp"

namespace mbirk::program {

/// Settings for judging candidates.
struct candidate_settings {
  std::vector<profile::fpga::device> devices = profile::fpga::device_data::every_device();
  int iterations = 15;  ///< iterations of a reconstruction whose arrays are sent once
  std::vector<std::string> against = {"host"};  ///< "host", "all", or names of GPUs

  bool against_host() const;
  /// Names are compared without case, spaces and hyphens.
  bool against_device(std::string const& name) const;
  /// Compares with these, and adds the GPUs among them that only the table of predictions has (gpu/device_table.hpp).
  /// @throws parameter_error, in one line, when a name is neither "host", "all" nor that of a known GPU
  void compare_with(std::vector<std::string> names);
};

/// Builds the block "candidates" from "measurements", "cost_analysis", "environment" and, if present, "ceilings" and
/// "word_lengths" of a profile. docs/fpga.md describes the fields.
/// @param file  name used in error messages
/// @throws io_error, in one line, when a field is missing or malformed
nlohmann::json candidates_json(nlohmann::json const& report, std::string const& file,
                               candidate_settings const& settings = {});

/// Prints the best plan for whole reconstructions, with its time and energy beside those of other devices, and the
/// first five candidates of the largest size, one line each with its reason.
void print_candidates(nlohmann::json const& candidates);

}  // namespace mbirk::program
