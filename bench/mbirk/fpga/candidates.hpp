// Which operations of a profile deserve an FPGA: the model of profile/candidate.hpp over what `mbirk profile` wrote.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fpga/device_file.hpp"

namespace mbirk::program {

/// What candidates are held against.
struct candidate_settings {
  std::vector<profile::fpga::device> devices = profile::fpga::device_data::every_device();
  int iterations = 15;  ///< of a reconstruction whose arrays are sent once
};

/// The block "candidates" from "measurements", "cost_analysis", "environment" and, where there are some, "ceilings", "word_lengths" of a profile: docs/fpga.md has the fields.
/// @param file  named in complaints  @throws io_error in one line, when a field is missing or is not what it should be
nlohmann::json candidates_json(nlohmann::json const& report, std::string const& file, candidate_settings const& settings = {});

/// The first five of the largest size, one line each with its reason.
void print_candidates(nlohmann::json const& candidates);

}  // namespace mbirk::program
