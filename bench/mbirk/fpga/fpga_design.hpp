// The accelerator that an FPGA gets for some counted work: its buffer, lanes and bandwidth, with one budget of memory
// blocks for all of them.
#pragma once

#include <array>
#include <optional>

#include "fpga/candidate_input.hpp"

namespace mbirk::program {

/// Bytes of the arrays by class of access.
struct access_mix {
  std::array<double, 5> bytes{};  ///< by access_class

  /// The worst class with at least a fifth of the bytes, because it decides.
  profile::fpga::access_class dominant() const;
  /// Share of the usable bandwidth.
  /// @param buffered  every line is fetched once into a buffer, in pieces of rows, so nothing is gathered off the chip
  double efficiency(bool buffered) const;
  json to_json() const;
};
access_mix access_mix_of(json_field const& cost);

struct fpga_design {
  profile::fpga::design design;
  std::optional<profile::fpga::buffer_choice> buffer;
  double usable_bytes = 0;  ///< for the buffer
  profile::fpga::estimate estimate;
};
fpga_design design_on(profile::fpga::counted_work const& w, access_mix const& access, profile::fpga::device const& d,
                      profile::fpga::word const& in, profile::fpga::decision_rules const& rules = {});

}  // namespace mbirk::program
