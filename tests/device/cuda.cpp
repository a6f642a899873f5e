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
  if (!mbirk::exec::cuda::available()) {
    std::puts("no CUDA device: nothing was tested");
    return 77;  // ctest shows it as skipped
  }
  return RUN_ALL_TESTS();
}
