// GPUs for which times are predicted, each number with its source, and times that others have published.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "input/json_field.hpp"
#include "mbirk/profile/device_data.hpp"

namespace mbirk::program::gpu {

/// A device. Rates are per second, and "... per clock" means warp instructions per clock and multiprocessor.
struct device {
  std::string name;
  int capability = 0;  ///< of the code that it runs: 90 for 9.0
  std::map<std::string, profile::fpga::sourced, std::less<>> numbers;

  double operator[](std::string_view number) const { return numbers.find(number)->second.value; }
};

/// Names of the numbers that every device has.
std::vector<std::string> const& device_numbers();

/// A100, L40S, RTX 4090, H100, H200, B200, RTX 5090.
std::vector<device> const& every_device();
/// Null if there is no device of this name; upper and lower case are alike.
device const* find_device(std::string_view name);
/// Reads a device of a file like those of data/devices.json.
/// @throws io_error in one line: what is missing or wrong, where, and what was expected
device device_from(json_field const& field);

/// A time that others have published; it was not rerun.
struct published_time {
  std::string operation, geometry;  ///< names as in the table of operations; "none" without geometry
  std::string cell;                 ///< views x rows x channels of the sinogram, or the shape of the image
  std::string pixels;               ///< "all", or the number of listed pixels
  std::string device, software, source;
  double seconds = 0;
  int iterations = 0;               ///< of algorithms that iterate
};
std::vector<published_time> const& published_times();

}  // namespace mbirk::program::gpu
