// With ThreadSanitizer and without the emulator's own check, races appear like those of OS threads: on shared and on
// global memory. Each test is a program of its own that the sanitizer ends.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "exec/planted.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

constexpr int threads = 64;

enum class mistake { none, no_sync, warp_sync_for_sync, no_warp_sync, second_round, no_wait };

template <mistake Planted> struct kernel {
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared {
    typename B::template tile<float, threads> t;
    typename B::template tile<float, 64> window;
    typename B::template pipe_storage<1> pipe;
  };
  float* out;
  float const* source;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    int const r = b.rank();
    auto const pipe = b.open(sh.pipe);
    float sum = 0;
    for (int round = 0; round < 2; ++round) {
      pipe.copy_async(sh.window.from(0), source, 64);
      sh.t(r) = static_cast<float>(r + round);
      if constexpr (Planted == mistake::warp_sync_for_sync) b.warp().sync();
      else if constexpr (Planted != mistake::no_sync) b.sync();
      float const x = sh.t((r + 40) % threads);
      if constexpr (Planted != mistake::second_round) b.sync();
      if constexpr (Planted != mistake::no_wait) pipe.wait();
      float const y = sh.window(r);
      if constexpr (Planted == mistake::no_wait) pipe.wait();
      b.sync();
      sh.t(r) = y;
      if constexpr (Planted != mistake::no_warp_sync) b.warp().sync();
      float const z = sh.t(r ^ 1);
      sum += x + y + z;
      if constexpr (Planted != mistake::second_round) b.sync();
    }
    out[b.index().x * threads + r] = sum;
  }
};

/// The next line overwrites the one that was read. Planted: while other threads may still read it.
struct refilled_early {
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared {
    typename B::template tile<float, 64> window;
    typename B::template pipe_storage<1> pipe;
  };
  float* out;
  float const* source;
  bool planted = true;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    auto const pipe = b.open(sh.pipe);
    for (int round = 0; round < 2; ++round) {
      pipe.copy_async(sh.window.from(0), source, 64);
      pipe.wait();
      float const y = sh.window((b.rank() + 9) % 64);
      out[b.index().x * threads + b.rank()] += y;
      if (!planted) b.sync();
    }
  }
};
int exit_code_of_refill(emulation_options const& o, bool planted) {
  alignas(16) float source[64] = {};
  return run(refilled_early{nullptr, source, planted}, o).findings.empty() ? 0 : 1;
}

template <mistake Planted> int exit_code(emulation_options const& o) {
  alignas(16) float source[64];
  for (int i = 0; i < 64; ++i) source[i] = static_cast<float>(i);
  kernel<Planted> k{};
  k.source = source;
  return run(k, o).findings.empty() ? 0 : 1;
}

/// All blocks add to one word, atomically or (planted) not.
template <bool Planted> struct one_word_of_many_blocks {
  static constexpr launch_bounds bounds{32, 1};
  template <class B> struct shared {};
  float* out;
  float* total;
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    if (b.rank() != 0) return;
    for (int i = 0; i < 2000; ++i) {  // long enough for every worker to run blocks
      if constexpr (Planted) *total += 1.0f;
      else std::atomic_ref(*total).fetch_add(1.0f, std::memory_order_relaxed);
    }
    out[b.index().x * 32] = 1;
  }
};
template <bool Planted> int many_blocks() {
  float total = 0;
  one_word_of_many_blocks<Planted> k{};
  k.total = &total;
  return run(k, {.workers = 2}, 1000).findings.empty() ? 0 : 1;
}

struct ThreadSanitizerDeathTest : ::testing::Test {
  void SetUp() override {
    if (!exec::emulation::thread_sanitizer) GTEST_SKIP() << "not built with ThreadSanitizer";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(ThreadSanitizerDeathTest, IsSilentForCorrectKernels) {
  for (emulation_options const& o : modes(false)) {
    EXPECT_EQ(exit_code<mistake::none>(o), 0);
    EXPECT_EQ(exit_code_of_refill(o, false), 0);
  }
  EXPECT_EQ(many_blocks<false>(), 0);
}
TEST_F(ThreadSanitizerDeathTest, FindsRacesOnSharedMemory) {
  for (emulation_options const& o : modes(false)) {
    SCOPED_TRACE(text_of(o));
    EXPECT_EXIT(std::exit(exit_code<mistake::no_sync>(o)), ::testing::ExitedWithCode(66), "data race");
    EXPECT_EXIT(std::exit(exit_code<mistake::warp_sync_for_sync>(o)), ::testing::ExitedWithCode(66), "data race");
    EXPECT_EXIT(std::exit(exit_code<mistake::no_warp_sync>(o)), ::testing::ExitedWithCode(66), "data race");
    EXPECT_EXIT(std::exit(exit_code<mistake::second_round>(o)), ::testing::ExitedWithCode(66), "data race");
    EXPECT_EXIT(std::exit(exit_code<mistake::no_wait>(o)), ::testing::ExitedWithCode(66), "data race");
    EXPECT_EXIT(std::exit(exit_code_of_refill(o, true)), ::testing::ExitedWithCode(66), "data race");
  }
}
TEST_F(ThreadSanitizerDeathTest, FindsRacesOnGlobalMemoryBetweenBlocks) {
  EXPECT_EXIT(std::exit(many_blocks<true>()), ::testing::ExitedWithCode(66), "data race");
}

}  // namespace
