// The program mbirk where it is shipped for several instruction sets: becomes the one for this processor.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>

#include "mbirk/exec/instruction_set.hpp"

namespace {

constexpr int bad_input = 2;

int fail(std::string what) {
  std::replace(what.begin(), what.end(), '\n', ' ');
  std::fprintf(stderr, "mbirk: %s\n", what.c_str());
  return bad_input;
}

}  // namespace

int main(int, char** argv) {
  try {
    auto const self = std::filesystem::read_symlink("/proc/self/exe");
    auto const program = self.parent_path() / MBIRK_PROGRAMS / mbirk::instruction_set() / "mbirk";
    execv(program.c_str(), argv);
    return fail(program.string() + " cannot be run: " + std::strerror(errno));
  } catch (std::exception const& e) {
    return fail(e.what());
  }
}
