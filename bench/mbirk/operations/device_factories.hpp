// How a program makes its device policies.
#pragma once

#include <memory>

#include "mbirk/exec/emulation/options.hpp"

namespace mbirk::program {

class device_operations;

/// Factories of the device policies; null in a program without them.
struct device_factories {
  std::unique_ptr<device_operations> (*emulated)(exec::emulation_options const&) = nullptr;
  std::unique_ptr<device_operations> (*cuda)() =
      nullptr;  ///< @throws device_error when there is no device that can be used
};
device_factories const& devices_of_this_program();

}  // namespace mbirk::program
