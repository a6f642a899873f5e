#include "commands/devices_program.hpp"

#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "operations/device_operations.hpp"

namespace mbirk::program {

bool wants_devices_program(std::string_view command, std::string_view policy) { return policy != "host" || command == "profile"; }

void become_devices_program(char** argv, bool even_if_older) {
  namespace fs = std::filesystem;
  if (devices_of_this_program().emulated) return;
  std::error_code error;
  fs::path const self = fs::read_symlink("/proc/self/exe", error);
  if (error) return;
  fs::path const other = self.parent_path() / "mbirk-devices";
  auto const other_time = fs::last_write_time(other, error);
  if (error) return;
  auto const own_time = fs::last_write_time(self, error);
  if (error || (other_time < own_time && !even_if_older)) return;
  execv(other.c_str(), argv);
}

}  // namespace mbirk::program
