// User-defined devices, in addition to those of profile/device_data.hpp.
#pragma once

#include <string>
#include <vector>

#include "mbirk/profile/device_data.hpp"

namespace mbirk::program {

/// Reads one device: {"name", "kind": "fpga" | "gpu" | "cpu", and numbers with the names of
/// profile::fpga::device_fields}. A number may be an object {"value", "mark", "source"}; a plain number is marked as an
/// assumption of the file. Numbers that docs/fpga.md calls optional may be omitted.
/// @throws io_error in one line: what is wrong, where, and what was expected
profile::fpga::device read_device(std::string const& file);

/// The built-in devices and those of the files; a device of the same name replaces the built-in one.
std::vector<profile::fpga::device> devices_with(std::vector<std::string> const& files);

}  // namespace mbirk::program
