// dispatched SET: two sources of this program are compiled for different processors; both get the kernels of the same
// set. Exit code 77 where this processor lacks the set.
#include <cstdio>
#include <cstring>
#include <exception>

#include "calls.hpp"

int main(int, char** argv) {
  try {
    if (mbirk::instruction_set() != argv[1]) throw std::runtime_error("runs another set");
    auto const one = call_from_baseline();
    if (__builtin_cpu_supports("x86-64-v3")) {
      auto const other = call_from_wide();
      expect(one.arrays == other.arrays, "sources with different flags get different bits");
      expect(one.lanes_of_own_kernel == 4 && other.lanes_of_own_kernel == 4,
             "sources disagree about the lanes of exec::host");
    }
    std::printf("%s: %zu arrays\n", argv[1], one.arrays.size());
  } catch (mbirk::parameter_error const& e) {
    std::printf("%s\n", e.what());
    return std::strstr(e.what(), "MBIRK_INSTRUCTION_SET") ? 77 : 1;
  } catch (std::exception const& e) {
    std::printf("%s: %s\n", argv[1], e.what());
    return 1;
  }
}
