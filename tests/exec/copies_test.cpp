// Asynchronous copies: missing and wrong waits, stages that are refilled too early, bad arguments.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "exec/planted.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

struct in_this_file {
  static constexpr std::string_view file = __FILE__;
};
constexpr int threads = 64, stages = 2, rounds = 5;

struct alignas(16) line_of_values { std::array<float, threads> at; };

/// A source of `rounds` lines with different values.
inline auto const source = [] {
  std::array<line_of_values, rounds> lines{};
  for (int v = 0; v < rounds; ++v) {
    for (int i = 0; i < threads; ++i)
      lines[static_cast<std::size_t>(v)].at[static_cast<std::size_t>(i)] = static_cast<float>(100 * v + i * i % 31 + 1);
  }
  return lines;
}();
float const* line(int v) { return source[static_cast<std::size_t>(v)].at.data(); }

enum class mistake { none, no_wait, wrong_stage, refilled_early };

/// A pipe of two stages: one line is read while the next one is copied.
template <mistake Planted> struct pipeline : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared {
    typename B::template tile<float, stages, threads> window;
    typename B::template pipe_storage<stages> pipe;
  };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    auto const pipe = b.open(sh.pipe);
    auto const issue = [&](int v) { pipe.copy_async(sh.window.from(v % stages, 0), line(v), threads); };
    float sum = 0;
    issue(0);
    for (int v = 0; v < rounds; ++v) {
      if (v + 1 < rounds) issue(v + 1);
      if constexpr (Planted != mistake::no_wait) pipe.wait();
      else if (v + 2 < rounds) pipe.wait();  // keeps no more copies outstanding than there are stages
      int const stage = (Planted == mistake::wrong_stage ? v + 1 : v) % stages;
      for (int k = 1; k < 3; ++k) {
        float const y = sh.window(stage, (b.rank() + 13 * k) % threads);
        sum += y;
      }
      if constexpr (Planted != mistake::refilled_early) b.sync();
    }
    out[b.index().x * threads + b.rank()] = sum;
  }
  static float expected(int, int rank) {
    float sum = 0;
    for (int v = 0; v < rounds; ++v) {
      for (int k = 1; k < 3; ++k) sum += line(v)[(rank + 13 * k) % threads];
    }
    return sum;
  }
  static constexpr int last_line = __LINE__;
};

/// The last line is read before it is waited for.
struct last_wait_missing : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared {
    typename B::template tile<float, threads> window;
    typename B::template pipe_storage<1> pipe;
  };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    auto const pipe = b.open(sh.pipe);
    pipe.copy_async(sh.window.from(0), line(1), threads);
    b.sync();  // no replacement for a wait
    float const y = sh.window(b.rank());
    pipe.wait();
    out[b.index().x * threads + b.rank()] = y;
  }
  static float expected(int, int rank) { return line(1)[rank]; }
  static constexpr int last_line = __LINE__;
};

/// One warp waits, then a barrier: all threads may read. Planted: no barrier.
template <bool Planted> struct one_warp_waits : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared {
    typename B::template tile<float, threads> window;
    typename B::template pipe_storage<1> pipe;
  };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    auto const pipe = b.open(sh.pipe);
    pipe.copy_async(sh.window.from(0), line(2), threads);
    if (b.warp_rank() == 1) pipe.wait();
    if constexpr (!Planted) b.sync();
    float const y = sh.window(b.rank());
    out[b.index().x * threads + b.rank()] = y;
  }
  static float expected(int, int rank) { return line(2)[rank]; }
  static constexpr int last_line = __LINE__;
};

/// Threads write to an element that is also the target of a copy, with or without a sync between.
template <bool Planted> struct copy_over_writes : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared {
    typename B::template tile<float, threads> window;
    typename B::template pipe_storage<1> pipe;
  };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    auto const pipe = b.open(sh.pipe);
    sh.window(b.rank()) = -1.0f;
    if constexpr (!Planted) b.sync();
    pipe.copy_async(sh.window.from(0), line(3), threads);
    pipe.wait();
    float const y = sh.window((b.rank() + 9) % threads);
    out[b.index().x * threads + b.rank()] = y;
  }
  static float expected(int, int rank) { return line(3)[(rank + 9) % threads]; }
  static constexpr int last_line = __LINE__;
};

struct two_copies_to_one_place : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared {
    typename B::template tile<float, threads> window;
    typename B::template pipe_storage<2> pipe;
  };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    auto const pipe = b.open(sh.pipe);
    pipe.copy_async(sh.window.from(0), line(0), threads);
    b.sync();
    pipe.copy_async(sh.window.from(0), line(1), threads);
    pipe.wait();
    pipe.wait();
    out[b.index().x * threads + b.rank()] = 0;
  }
  static constexpr int last_line = __LINE__;
};

enum class argument {
  good,
  place_misaligned,
  source_misaligned,
  odd_size,
  too_long,
  negative,
  different,
  no_copy,
  too_many,
  not_by_thread_0
};

template <argument Planted> struct arguments : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared {
    typename B::template tile<float, 3, threads> window;
    typename B::template pipe_storage<2> pipe;
  };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    constexpr auto p = Planted;
    auto const pipe = b.open(sh.pipe);
    int const n = p == argument::odd_size   ? 9
                  : p == argument::too_long ? 3 * threads + 4
                  : p == argument::negative ? -4
                  : p == argument::different ? (b.rank() == 40 ? 4 : 8)
                                             : 8;
    if (p != argument::no_copy && (p != argument::not_by_thread_0 || b.rank() != 0)) {
      pipe.copy_async(sh.window.from(0, p == argument::place_misaligned ? 1 : 0),
                      line(0) + (p == argument::source_misaligned ? 3 : 0), n);
    }
    if (p == argument::too_many) {
      pipe.copy_async(sh.window.from(1, 0), line(0), 8);
      pipe.copy_async(sh.window.from(2, 0), line(0), 8);
    }
    if (p != argument::not_by_thread_0 || b.rank() != 0) pipe.wait();
    float const y = sh.window(0, b.rank() % 4);
    out[b.index().x * threads + b.rank()] = y;
  }
  static float expected(int, int rank) { return line(0)[rank % 4]; }
  static constexpr int last_line = __LINE__;
};

std::vector<emulation_options> copies_that(bool late) {
  std::vector<emulation_options> all;
  for (std::uint64_t seed = 0; seed < 20; ++seed) all.push_back({.seed = seed, .late_copies = late});
  return all;
}

TEST(Copies, CorrectPipelinesAreSilent) {
  expect_silent<pipeline<mistake::none>>();
  expect_silent<one_warp_waits<false>>();
  expect_silent<copy_over_writes<false>>();
}
TEST(Copies, NoWait) {
  expect_found_by_check<pipeline<mistake::no_wait>>("fills, without having waited for it");
  expect_found_by_check<last_wait_missing>("fills, without having waited for it");
  expect_found_by_check<one_warp_waits<true>>("race: ");
  expect_only_wrong_values<pipeline<mistake::no_wait>>(copies_that(true));
  expect_only_wrong_values<last_wait_missing>(copies_that(true));
}
TEST(Copies, WaitForTheWrongStage) {
  expect_found_by_check<pipeline<mistake::wrong_stage>>("fills, without having waited for it");
  expect_only_wrong_values<pipeline<mistake::wrong_stage>>(copies_that(true));
}
TEST(Copies, RefilledTooEarly) {
  expect_found_by_check<pipeline<mistake::refilled_early>>("and no sync is between the two");
  expect_only_wrong_values<pipeline<mistake::refilled_early>>(copies_that(false));
  expect_only_wrong_values<pipeline<mistake::refilled_early>>(copies_that(true));
}
TEST(Copies, OverWhatThreadsWrite) { expect_found_by_check<copy_over_writes<true>>("race: copies to byte "); }
TEST(Copies, TwoToOnePlace) {
  expect_found_by_check<two_copies_to_one_place>("and no wait with a sync after it is between the two");
}
TEST(Copies, Arguments) {
  expect_silent<arguments<argument::good>>();
  expect_found_always<arguments<argument::place_misaligned>>(
      "copies to a place in shared memory that is not aligned to 16 bytes");
  expect_found_always<arguments<argument::source_misaligned>>(
      "copies from a place in global memory that is not aligned to 16 bytes");
  expect_found_always<arguments<argument::odd_size>>("copies 36 bytes, which is not a multiple of 16");
  expect_found_always<arguments<argument::too_long>>(
      "copies 784 bytes to a place that has only 768 up to the end of its tile");
  expect_found_always<arguments<argument::negative>>("copies -4 elements");
  expect_found_always<arguments<argument::different>>("the arguments of a copy differ from those of another thread");
  expect_found_always<arguments<argument::no_copy>>("waits for a copy, but has waited for all that it started");
  expect_found_always<arguments<argument::too_many>>("starts a copy while 2 are outstanding");
  expect_found_always<arguments<argument::not_by_thread_0>>(
      "63 threads (1 .. 63) are in wait for a copy that thread 0 has not started at ");
}

}  // namespace
