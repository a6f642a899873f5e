// The program mbirk-devices, which lies beside mbirk once it is built: the same commands, with the policies emulated
// and cuda.
#pragma once

#include <string_view>

namespace mbirk::program {

/// Whether a command line is for mbirk-devices: it names a device policy, or it is a profile, which counts the memory
/// requests of devices where it can.
/// @param policy  of the command line, "host" where it says nothing
bool wants_devices_program(std::string_view command, std::string_view policy);

/// Goes on as mbirk-devices with the same arguments, if it lies beside this program and this program has no device
/// policies of its own. Returns if not.
/// @param on_request  the command line needs it: it is taken, with a note, also when it is older than this program
/// @throws unavailable_error when it is needed and cannot be run
void become_devices_program(char** argv, bool on_request);

}  // namespace mbirk::program
