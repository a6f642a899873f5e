// Devices that the user describes, beside those of profile/device_data.hpp.
#pragma once

#include <string>
#include <vector>

#include "mbirk/profile/device_data.hpp"

namespace mbirk::program {

/// One device: {"name", "kind": "fpga" | "gpu" | "cpu", and numbers under the names of profile::fpga::device_fields}. A number may be an object {"value",
/// "mark", "source"}; alone it is marked as an assumption of the file. What docs/fpga.md calls optional may be left out.
/// @throws io_error in one line: what is wrong, where, what was expected
profile::fpga::device read_device(std::string const& file);

/// The built-in devices and those of the files; one of the same name takes the place of the built-in one.
std::vector<profile::fpga::device> devices_with(std::vector<std::string> const& files);

}  // namespace mbirk::program
