// The programs mbirk-devices and mbirk-mpi-devices, which are next to mbirk and mbirk-mpi once they are built: the same
// commands, with the policies emulated and cuda.
#pragma once

#include <string_view>

namespace mbirk::program {

/// Whether a command line is for mbirk-devices: it names a device policy, or it is a profile, which counts the memory
/// requests of devices where it can.
/// @param policy  value of --policy; "host" if it is not given
bool wants_devices_program(std::string_view command, std::string_view policy);

/// Replaces this process by another program with the same arguments, if that is next to this program and this program
/// has no device policies of its own. Otherwise returns.
/// @param name        of the other program: mbirk-devices or mbirk-mpi-devices
/// @param on_request  the command line needs it, so it is used, with a note, even if it is older than this program
/// @throws unavailable_error when it is needed and cannot be run
void become_devices_program(char const* name, char** argv, bool on_request);

}  // namespace mbirk::program
