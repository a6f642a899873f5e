#include "commands/devices_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "operations/common_options.hpp"
#include "operations/device_operations.hpp"
#include "process/streams.hpp"

namespace mbirk::program {
namespace {

/// Set in the environment of the program that replaces this one, so that a copy of mbirk under that name does not
/// restart itself forever.
constexpr char const* marker = "MBIRK_BECOMES_DEVICES";

}  // namespace

bool wants_devices_program(std::string_view command, std::string_view policy) {
  return policy != "host" || command == "profile";
}

void become_devices_program(char const* name, char** argv, bool on_request) {
  namespace fs = std::filesystem;
  bool const became = std::getenv(marker) != nullptr;
  unsetenv(marker);
  if (became || devices_of_this_program().emulated) return;
  std::error_code error;
  fs::path const self = fs::read_symlink("/proc/self/exe", error);
  if (error) return;
  fs::path const other = self.parent_path() / name;
  auto const other_time = fs::last_write_time(other, error);
  if (error) return;
  auto const own_time = fs::last_write_time(self, error);
  if (error) return;
  if (other_time < own_time) {
    if (!on_request) return;
    note("{} is older than this program; ./mbirk.sh builds it again (--help says how)", other.string());
  }
  setenv(marker, "1", 1);
  execv(other.c_str(), argv);
  int const why = errno;
  unsetenv(marker);
  require<unavailable_error>(!on_request,
                             [&] { return fmt::format("{} cannot be run: {}", other.string(), std::strerror(why)); });
}

}  // namespace mbirk::program
