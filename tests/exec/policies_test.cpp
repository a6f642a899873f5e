// The emulated policy, arrays and tuning values.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "core/messages.hpp"
#include "mbirk/memory.hpp"
#include "mbirk/exec/array.hpp"
#include "mbirk/exec/emulated.hpp"
#include "mbirk/exec/tuning.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/instrument/sizing.hpp"
#include "mbirk/mbirk.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

static_assert(simd::warp_pack_backend<instrument::counted<exec::emulated::backend>>);
static_assert(simd::pack_backend<instrument::sizing::backend<simd::native_backend>>);
static_assert(simd::pack_backend<instrument::sizing::backend<exec::emulated::backend>>);

template <class Exec> struct Arrays : ::testing::Test {};
using policies = ::testing::Types<exec::host, exec::emulated>;
TYPED_TEST_SUITE(Arrays, policies);

TYPED_TEST(Arrays, KeepWhatTheyAreMadeFrom) {
  std::vector<float> values(77), back(77, -1.0f), some(5, -1.0f);
  std::iota(values.begin(), values.end(), 1.0f);
  TypeParam const exec{};
  exec::array<float, TypeParam> const a(exec, values);
  EXPECT_EQ(a.size(), 77);
  a.download(back);
  EXPECT_EQ(back, values);
  a.download(some);
  EXPECT_EQ(some, std::vector<float>(values.begin(), values.begin() + 5));
  exec::array<float, TypeParam> const none(exec, 0);
  EXPECT_EQ(none.data(), nullptr);
  std::vector<float> empty;
  none.download(empty);
  std::vector<float> many(78);
  expect_error<shape_error>([&] { a.download(many); }, {"array", "78", "at most its 77"});
}

TYPED_TEST(Arrays, SayWhatWasAskedForWhenThereIsNoMoreMemory) {
  if (exec::emulation::address_sanitizer || exec::emulation::thread_sanitizer)
    GTEST_SKIP() << "sanitizers end the program instead";
  TypeParam const exec{};
  expect_error<allocation_error>([&] { exec::array<float, TypeParam>(exec, index_t{1} << 58); },
                                 {"out of memory", "1152921504606846976 bytes"});
  exec::array<float, TypeParam> const a(exec, 10);  // the policy remains usable
  EXPECT_NE(a.data(), nullptr);
}

TEST(Emulated, CountsTransfersByDirection) {
  exec::emulated const exec;
  exec::emulated const copy = exec;  // shares the counters
  std::vector<float> values(25), back(10);
  exec::array<float, exec::emulated> const a(copy, values);
  a.download(back);
  auto const t = exec.transfers();
  EXPECT_EQ(t.uploads, 1);
  EXPECT_EQ(t.bytes_up, 100);
  EXPECT_EQ(t.downloads, 1);
  EXPECT_EQ(t.bytes_down, 40);
}

// A projection is asynchronous on a device: nothing is copied back to the host before the caller requests it.
TEST(Emulated, ProjectorsBringNothingBack) {
  parallel_scan const s(parallel_parameters{.sinogram_shape = {3, 4, 9}, .angles = {0.1f, 1.0f, 2.0f}});
  exec::emulated const exec;
  context const ctx{exec, instrument::none{}};
  auto const shape = s.recon_shape();
  std::vector<float> x(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]), 1.0f), y(3 * 4 * 9);
  forward_project(ctx, s, view<float const, 3>(x.data(), shape), view<float, 3>(y.data(), s.sinogram_shape()));
  back_project(ctx, s, view<float const, 3>(y.data(), s.sinogram_shape()), view<float, 3>(x.data(), shape));
  hessian_diagonal(ctx, s, std::nullopt, view<float, 3>(x.data(), shape));
  EXPECT_EQ(exec.transfers().downloads, 0);
  EXPECT_GT(exec.transfers().uploads, 0);
}

TEST(Emulated, TemporariesBeginAsNaN) {
  using emulated_context = context<exec::emulated, instrument::none>;
  emulated_context const ctx{exec::emulated(), {}};
  temporary<float, emulated_context> const t(ctx, "t", 9);
  for (index_t k = 0; k < 9; ++k) EXPECT_TRUE(std::isnan(t.data()[k]));
  clear(ctx, t);
  for (index_t k = 0; k < 9; ++k) EXPECT_EQ(t.data()[k], 0.0f);
}

TEST(Tuning, IsTheDefaultUnlessTheCapabilityWasMeasured) {
  constexpr exec::measured_tuning measured[] = {{80, {40, 2, 3}}, {90, {48, 1, 2}}};
  EXPECT_EQ(exec::tuning_for(80, measured), (exec::tuning{40, 2, 3}));
  EXPECT_EQ(exec::tuning_for(90, measured), (exec::tuning{48, 1, 2}));
  EXPECT_EQ(exec::tuning_for(89, measured), exec::default_tuning);
  static_assert(exec::tuning_for(50) == exec::default_tuning);
}

}  // namespace
