// The operations on the CUDA policy; skips the tests if there is no device.
#include <gtest/gtest.h>

#include <cstdio>

#include "mbirk/exec/cuda.hpp"

namespace mbirk::test {

inline exec::cuda device(int) { return exec::cuda(); }

}  // namespace mbirk::test

#include "device/implementation.hpp"

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (std::string const missing = mbirk::exec::cuda::missing(); !missing.empty()) {
    std::printf("%s: nothing was tested\n", missing.c_str());
    return 77;  // ctest shows it as skipped
  }
  return RUN_ALL_TESTS();
}
