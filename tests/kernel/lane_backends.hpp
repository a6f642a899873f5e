// The backends of host kernels, for typed tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "mbirk/simd/pack.hpp"

namespace mbirk::test {

struct lane_names {
  template <class B> static std::string GetName(int) { return "lanes_" + std::to_string(B::lanes); }
};
using lane_backends = ::testing::Types<simd::native<4>, simd::native<8>, simd::native<16>>;

}  // namespace mbirk::test
