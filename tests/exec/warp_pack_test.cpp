// Packs on an emulated warp: stores that only a barrier orders, and approximations that are as bad as those of a device
// may be.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "mbirk/exec/emulated.hpp"
#include "mbirk/kernel/device/on_warps.hpp"
#include "mbirk/simd/lanes.hpp"

namespace {

using namespace mbirk;
using B = exec::emulated::backend;

/// Stores a pack, and loads it in reverse order.
template <bool Ordered> struct reverse_through_memory {
  float* memory;
  float* result;
  MBIRK_HD void operator()(index_t) const noexcept {
    B::store(memory, B::to_pack(B::to_wide(B::iota())));
    if constexpr (Ordered) kernel::order_lanes<B>();
    auto const reversed = B::iota() * B::broadcast(std::int32_t{-1}) + B::broadcast(std::int32_t{31});
    B::store(result, B::gather(memory, reversed));
  }
};

template <bool Ordered> int wrong_lanes(std::uint64_t seed) {
  std::vector<float> memory(warp_lanes, -1.0f), result(warp_lanes, -1.0f);
  kernel::on_warps<reverse_through_memory<Ordered>, kernel::no_scratch> const kernel{
      {memory.data(), result.data()}, 1, 1, {}};
  exec::emulated({.seed = seed}).launch(kernel, {1, 1, 1});
  int wrong = 0;
  for (int k = 0; k < warp_lanes; ++k) wrong += result[static_cast<std::size_t>(k)] != static_cast<float>(31 - k);
  return wrong;
}

// A kernel that forgets the barrier gives wrong results in every order of the lanes.
TEST(WarpPack, OrderLanesOrdersStores) {
  for (std::uint64_t seed = 1; seed < 6; ++seed) EXPECT_EQ(wrong_lanes<true>(seed), 0);
}
TEST(WarpPack, NothingElseOrdersStores) {
  if (exec::emulation::thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer reports the race itself";
  for (std::uint64_t seed = 1; seed < 6; ++seed) EXPECT_GT(wrong_lanes<false>(seed), 0);
}

TEST(WarpPack, SaturatedFmaIsRoundedOnceAndCutOff) {
  auto const result = [](float a, float b, float c) {
    return B::element(saturated_fma(B::pack(a), B::pack(b), B::pack(c)));
  };
  EXPECT_EQ(result(0.5f, 0.5f, 0.25f), 0.5f);
  EXPECT_EQ(result(3, 0.5f, 0), 1.0f);
  EXPECT_EQ(result(3, 0.5f, -1.75f), 0.0f);
  EXPECT_EQ(result(1, 1, 0), 1.0f);
  EXPECT_EQ(result(1, 1, -1), 0.0f);
  EXPECT_EQ(result(NAN, 1, 0), 0.0f);
  EXPECT_EQ(result(INFINITY, 1, 0), 1.0f);
  float const a = 1 + 0x1p-12f;  // whose square has 25 bits
  EXPECT_EQ(result(a, a, -1), 0x1p-11f + 0x1p-24f);
}

/// Numbers of all magnitudes that a division keeps normal.
std::vector<float> some_numbers(unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> fraction(1, 2);
  std::uniform_int_distribution<int> exponent(-60, 60);
  std::vector<float> x(20000);
  for (auto& v : x) v = std::ldexp(fraction(engine), exponent(engine));
  return x;
}

double ulps(float found, double exact) {
  float const near = std::abs(static_cast<float>(exact));
  return std::abs(static_cast<double>(found) - exact) /
         static_cast<double>(std::nextafter(near, std::numeric_limits<float>::infinity()) - near);
}

using approximate = exec::emulated_warp;

// Within the bounds of docs/devices.md and the rounding of the exact result, and far from exact somewhere.
TEST(WarpPack, ApproximationsReachTheirBoundsAndKeepThem) {
  auto const a = some_numbers(1), b = some_numbers(2);
  double divided = 0, rooted = 0, raised = 0, logarithm = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    double const x = static_cast<double>(a[k]), y = static_cast<double>(b[k]);
    divided = std::max(divided, ulps(approximate::divide(a[k], b[k]), x / y));
    rooted = std::max(rooted, ulps(approximate::square_root(a[k]), std::sqrt(x)));
    float const power = 40 * (a[k] / std::ldexp(1.0f, std::ilogb(a[k])) - 1.5f);
    raised = std::max(raised, ulps(approximate::exp2(power), std::exp2(static_cast<double>(power))));
    double const log = std::log2(x);
    double const off = std::abs(static_cast<double>(approximate::log2(a[k])) - log);
    logarithm = std::max(logarithm, off / std::max(1.0, std::abs(log)));
  }
  EXPECT_GT(divided, 1.9);
  EXPECT_LE(divided, 2.51);
  EXPECT_GT(rooted, 0.9);
  EXPECT_LE(rooted, 1.51);
  EXPECT_GT(raised, 1.9);
  EXPECT_LE(raised, 3.01);  // exp2f of the C library is off by half a unit more
  EXPECT_GT(logarithm, 0.9 * 0x1p-22);
  EXPECT_LE(logarithm, 1.51 * 0x1p-22);  // log2f of the C library and the sum round by half of the bound
}

TEST(WarpPack, ApproximationsKeepWhatIsNotANormalNumber) {
  float const infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(approximate::divide(1, 0), infinity);
  EXPECT_EQ(approximate::divide(0, 3), 0);
  EXPECT_EQ(approximate::divide(3, infinity), 0);
  EXPECT_TRUE(std::isnan(approximate::divide(0, 0)));
  EXPECT_TRUE(std::isnan(approximate::divide(nan, 1)));
  EXPECT_EQ(approximate::divide(1e-38f, 1e3f), 0) << "subnormal";
  EXPECT_EQ(approximate::square_root(0), 0);
  EXPECT_TRUE(std::isnan(approximate::square_root(-1)));
  EXPECT_EQ(approximate::exp2(-infinity), 0);
  EXPECT_EQ(approximate::exp2(1000), infinity);
  EXPECT_EQ(approximate::log2(infinity), infinity);
}

}  // namespace
