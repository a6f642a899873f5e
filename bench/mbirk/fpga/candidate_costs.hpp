// Parts of an entry of "candidates" that follow from the counted costs alone, without a time.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fpga/candidate_input.hpp"

namespace mbirk::program {

/// Share of a reconstruction's stages that an operation accounts for: measured over the iterations of a whole
/// reconstruction if the run has one of its geometry, else of one iteration by their roof times (flops or bytes,
/// whichever takes longer). Null for operations that are not a stage.
json share_of(json_field const& root, std::string const& name, json_field const& costs,
              profile::fpga::machine_roofs const& m);

/// Range of the values of each array, and the bits that they need.
json values_of(json_field const& cost);

/// Regularity of accesses: arrays whose lines are never fetched twice can be streamed in the order in which the kernel
/// reads them.
json access_of(json_field const& cost, profile::fpga::counted_work const& w);

/// Flops per byte issued, compulsory, and below each level of memory.
json intensity_of(profile::fpga::counted_work const& w, profile::fpga::machine_roofs const& m);

/// The roofline of every device: flops at its peak or compulsory bytes from its memory.
json optimal_seconds(profile::fpga::counted_work const& w, std::vector<profile::fpga::device> const& devices);

}  // namespace mbirk::program
