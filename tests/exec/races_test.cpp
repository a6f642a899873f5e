// Races on shared memory: in every order the check finds each planted race and names both lines; the twin has no
// findings and correct values.
#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "exec/planted.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

struct in_this_file {
  static constexpr std::string_view file = __FILE__;
};
constexpr int threads = 96;

constexpr float value(int block, int rank, int round = 0) {
  return static_cast<float>(block * 1000 + rank + 7 * round);
}

/// Every thread reads a value that a thread of another warp wrote.
template <bool Planted> struct missing_sync : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared { typename B::template tile<float, threads> t; };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    int const r = b.rank(), i = b.index().x;
    sh.t(r) = value(i, r);
    if constexpr (!Planted) b.sync();
    float const x = sh.t((r + 40) % threads);
    out[i * threads + r] = x;
  }
  static float expected(int block, int rank) { return value(block, (rank + 40) % threads); }
  static constexpr int last_line = __LINE__;
};

/// The buffer is refilled while other threads may still read it.
template <bool Planted> struct missing_release : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared { typename B::template tile<float, threads> t; };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    int const r = b.rank(), i = b.index().x;
    float sum = 0;
    for (int round = 0; round < 3; ++round) {
      sh.t(r) = value(i, r, round);
      b.sync();
      float const x = sh.t((r + 40) % threads);
      sum += x;
      if constexpr (!Planted) b.sync();
    }
    out[i * threads + r] = sum;
  }
  static float expected(int block, int rank) {
    int const r = (rank + 40) % threads;
    return value(block, r, 0) + value(block, r, 1) + value(block, r, 2);
  }
  static constexpr int last_line = __LINE__;
};

template <bool Planted> struct warp_sync_for_sync : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared { typename B::template tile<float, threads> t; };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    int const r = b.rank(), i = b.index().x;
    sh.t(r) = value(i, r);
    if constexpr (Planted) b.warp().sync();
    else b.sync();
    float const x = sh.t((r + 32) % threads);
    out[i * threads + r] = x;
  }
  static float expected(int block, int rank) { return value(block, (rank + 32) % threads); }
  static constexpr int last_line = __LINE__;
};

/// Lanes exchange through shared memory. A shuffle synchronises the lanes, too, but does not order memory.
template <bool Planted> struct warp_synchronous : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared { typename B::template tile<float, threads> t; };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    int const r = b.rank(), i = b.index().x;
    sh.t(r) = value(i, r);
    float const zero = b.warp().shfl(0.0f, 5);
    if constexpr (!Planted) b.warp().sync();
    float const x = sh.t(r ^ 3);
    if constexpr (!Planted) b.warp().sync();
    sh.t(r) = zero;
    out[i * threads + r] = x;
  }
  static float expected(int block, int rank) { return value(block, rank ^ 3); }
  static constexpr int last_line = __LINE__;
};

template <bool Planted> struct plain_sum : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared { typename B::template tile<float, 2> t; };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    if (b.rank() == 0) sh.t(1) = 0.0f;
    b.sync();
    if constexpr (Planted) {
      sh.t(1) += 1.0f;
    } else if (b.rank() == 0) {
      for (int k = 0; k < threads; ++k) sh.t(1) += 1.0f;
    }
    b.sync();
    float const x = sh.t(1);
    out[b.index().x * threads + b.rank()] = x;
  }
  static float expected(int, int) { return threads; }
  static constexpr int last_line = __LINE__;
};

/// All threads count in one place; the planted mistake reads it without a barrier.
template <bool Planted> struct counting : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared { typename B::template tile<std::int32_t, 2> t; };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    if (b.rank() == 0) sh.t(1) = 0;
    b.sync();
    b.count(sh.t(1));
    if constexpr (!Planted) b.sync();
    std::int32_t const x = sh.t(1);
    out[b.index().x * threads + b.rank()] = static_cast<float>(x);
  }
  static float expected(int, int) { return threads; }
  static constexpr int last_line = __LINE__;
};
/// The place is set to 0 while other threads may count in it.
template <bool Planted> struct counting_before_zero : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared { typename B::template tile<std::int32_t, 2> t; };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    if (b.rank() == 40) sh.t(1) = 0;
    if constexpr (!Planted) b.sync();
    b.count(sh.t(1));
    b.sync();
    std::int32_t const x = sh.t(1);
    out[b.index().x * threads + b.rank()] = static_cast<float>(x);
  }
  static float expected(int, int) { return threads; }
  static constexpr int last_line = __LINE__;
};

template <bool Planted> struct never_written : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared { typename B::template tile<float, 2, threads> t; };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    int const r = b.rank();
    sh.t(0, r) = 1.0f;
    if constexpr (!Planted) sh.t(1, r) = 2.0f;
    float const x = sh.t(0, r), y = sh.t(1, r);
    out[b.index().x * threads + r] = x + y;
  }
  static float expected(int, int) { return 3; }
  static constexpr int last_line = __LINE__;
};

/// A warp reduces through memory and every lane reads the result of its own warp; then one warp works for the others.
template <bool Planted> struct mixed_intervals : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared {
    typename B::template tile<float, threads / 32, 32> t;
    typename B::template tile<float, 1> total;
  };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    int const w = b.warp_rank(), lane = b.warp().lane();
    sh.t(w, lane) = static_cast<float>(lane);
    for (int half = 16; half > 0; half /= 2) {
      b.warp().sync();
      if (lane < half) sh.t(w, lane) += sh.t(w, lane + half);
    }
    if constexpr (!Planted) b.sync();
    if (b.rank() == 0) {
      float sum = 0;
      for (int k = 0; k < threads / 32; ++k) sum += sh.t(k, 0);
      sh.total(0) = sum;
    }
    b.sync();
    float const x = sh.total(0);
    out[b.index().x * threads + b.rank()] = x;
  }
  static float expected(int, int) { return 496.0f * (threads / 32); }
  static constexpr int last_line = __LINE__;
};

/// Neighbouring bytes belong to different threads: no conflict. Planted: the next thread's byte is read.
template <bool Planted> struct bytes : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared {
    typename B::template tile<unsigned char, threads> t;
    typename B::template tile<double, threads> d;
  };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    int const r = b.rank();
    sh.t(r) = static_cast<unsigned char>(r);
    sh.d(r) = 0.5 * r;
    unsigned char const x = sh.t(Planted ? (r + 1) % threads : r);
    double const y = sh.d(r);
    out[b.index().x * threads + r] = static_cast<float>(x) + static_cast<float>(y);
  }
  static float expected(int, int rank) { return 1.5f * static_cast<float>(rank); }
  static constexpr int last_line = __LINE__;
};

TEST(Races, MissingSyncBetweenWriteAndRead) {
  expect_found_by_check<missing_sync<true>>("race: ");
  expect_only_wrong_values<missing_sync<true>>(modes(false));
  expect_silent<missing_sync<false>>();
}
TEST(Races, MissingSyncBeforeTheBufferIsRewritten) {
  expect_found_by_check<missing_release<true>>("race: ");
  expect_only_wrong_values<missing_release<true>>(modes(false));
  expect_silent<missing_release<false>>();
}
TEST(Races, WarpSyncWhereSyncIsNeeded) {
  expect_found_by_check<warp_sync_for_sync<true>>("race: ");
  expect_only_wrong_values<warp_sync_for_sync<true>>({{.seed = 0}, {.seed = 1}, {.seed = 2}});
  expect_silent<warp_sync_for_sync<false>>();
}
TEST(Races, WarpSynchronousCodeWithoutWarpSync) {
  expect_found_by_check<warp_synchronous<true>>("race: ");
  expect_silent<warp_synchronous<false>>();
}
TEST(Races, PlainSumOfManyThreads) {
  expect_found_by_check<plain_sum<true>>("race: ", 0);  // one line races with itself
  expect_silent<plain_sum<false>>();
}
TEST(Races, PlainSumIsRightUnlessThreadsTakeTurnsInIt) {
  if (exec::emulation::thread_sanitizer) GTEST_SKIP() << "ThreadSanitizer reports the race itself";
  for (emulation_options o : modes(false)) {
    SCOPED_TRACE(text_of(o));
    expect_right<plain_sum<true>>(run(plain_sum<true>{}, o));
  }
  std::vector<emulation_options> preempted;
  for (std::uint64_t seed = 0; seed < 20; ++seed) preempted.push_back({.seed = seed, .preempt = 4});
  expect_only_wrong_values<plain_sum<true>>(preempted);
}
TEST(Races, CountsAreReadAfterABarrier) {
  expect_found_by_check<counting<true>>("race: ");
  expect_only_wrong_values<counting<true>>(modes(false));
  expect_silent<counting<false>>();
}
TEST(Races, CountsBeginAfterABarrier) {
  expect_found_by_check<counting_before_zero<true>>("race: ");
  expect_silent<counting_before_zero<false>>();
}
TEST(Races, ReadOfWhatNobodyWrote) {
  expect_found_by_check<never_written<true>>("nobody has written", 0);
  for (emulation_options const& o : modes(false)) {
    outcome const result = run(never_written<true>{}, o);
    EXPECT_TRUE(result.findings.empty());
    for (float const x : result.out) EXPECT_NE(x, x);
  }
  expect_silent<never_written<false>>();
}
TEST(Races, IntervalsOfWarpsAndBlock) {
  expect_found_by_check<mixed_intervals<true>>("race: ");
  expect_silent<mixed_intervals<false>>();
}
TEST(Races, BytesOfOneWordAreNotOneWord) {
  expect_found_by_check<bytes<true>>("race: ");
  expect_silent<bytes<false>>();
}

TEST(Races, TheRunGoesOnAndEveryPairOfLinesIsTold) {
  outcome const result = run(missing_release<true>{}, {.check_races = true});
  EXPECT_EQ(result.findings.size(), 1u);  // many races in two rounds, but one pair of lines
  for (float const x : result.out) EXPECT_NE(x, 0.0f);
}

}  // namespace
