// Functions that create the device policies of the programs mbirk-devices and mbirk-mpi-devices.
#pragma once

#include <memory>

#include "operations/device_operations.hpp"

namespace mbirk::program {

std::unique_ptr<device_operations> make_emulated_operations(exec::emulation_options const& options);
/// Defined where the program is built with CUDA. @throws device_error when there is no device that can be used
std::unique_ptr<device_operations> make_cuda_operations();

}  // namespace mbirk::program
