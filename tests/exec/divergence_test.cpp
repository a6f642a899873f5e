// Threads that do not meet: barriers and warp operations in branches, at different lines, with bad arguments. Found
// with and without the race check, in every order.
#include <gtest/gtest.h>

#include <limits>
#include <string_view>

#include "exec/planted.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

struct in_this_file {
  static constexpr std::string_view file = __FILE__;
};
constexpr int threads = 64;

/// Kernels without shared memory of their own.
struct plain : in_this_file {
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared {};
  float* out;
  template <class B> float& mine(B const& b) const noexcept { return out[b.index().x * threads + b.rank()]; }
};

template <bool Planted> struct sync_in_branch : plain {
  static constexpr int first_line = __LINE__;
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    if (!Planted || b.rank() != 17) b.sync();
    mine(b) = 1;
  }
  static float expected(int, int) { return 1; }
  static constexpr int last_line = __LINE__;
};

template <bool Planted> struct early_return : plain {
  static constexpr int first_line = __LINE__;
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    mine(b) = 1;
    if (Planted && b.rank() >= 60) return;
    b.sync();
    if (b.rank() >= 60) return;
    mine(b) = 2;
  }
  static float expected(int, int rank) { return rank >= 60 ? 1 : 2; }
  static constexpr int last_line = __LINE__;
};

template <bool Planted> struct two_syncs : plain {
  static constexpr int first_line = __LINE__;
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    // correct: all threads of a block take one branch
    bool const first = Planted ? b.rank() % 2 == 0 : b.index().x % 2 == 0;
    if (first) {
      b.sync();
    } else {
      b.sync();
    }
    mine(b) = 1;
  }
  static float expected(int, int) { return 1; }
  static constexpr int last_line = __LINE__;
};

template <bool Planted> struct shuffle_in_branch : plain {
  static constexpr int first_line = __LINE__;
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    float const x = static_cast<float>(b.rank());
    float y = 0;
    if (!Planted || b.warp().lane() < 20) y = b.warp().shfl_xor(x, 1);
    mine(b) = y;
  }
  static float expected(int, int rank) { return static_cast<float>(rank ^ 1); }
  static constexpr int last_line = __LINE__;
};

/// Whole warps may take different branches; lanes of one warp may not.
template <bool Planted> struct two_shuffles : plain {
  static constexpr int first_line = __LINE__;
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    float const x = static_cast<float>(b.rank());
    float y = 0;
    if ((Planted ? b.warp().lane() : b.warp_rank()) % 2 == 0) y = b.warp().shfl(x, 3);
    else y = b.warp().shfl(x, 4);
    mine(b) = y;
  }
  static float expected(int, int rank) { return static_cast<float>(rank < 32 ? 3 : 36); }
  static constexpr int last_line = __LINE__;
};

template <bool Planted> struct bad_lane : plain {
  static constexpr int first_line = __LINE__;
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    int const lane = b.warp().lane();
    mine(b) = b.warp().shfl(static_cast<float>(lane), Planted ? lane + 1 : (lane + 1) % 32);
  }
  static float expected(int, int rank) { return static_cast<float>((rank + 1) % 32); }
  static constexpr int last_line = __LINE__;
};

template <bool Planted> struct bad_mask : plain {
  static constexpr int first_line = __LINE__;
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    mine(b) = b.warp().shfl_xor(static_cast<float>(b.rank()), Planted ? 32 : 31);
  }
  static float expected(int, int rank) { return static_cast<float>(rank ^ 31); }
  static constexpr int last_line = __LINE__;
};

template <bool Planted> struct ballot_and_sync : plain {
  static constexpr int first_line = __LINE__;
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    unsigned bits = 0x55555555u;
    if (b.warp_rank() == 0) bits = b.warp().ballot(b.warp().lane() % 2 == 0);
    if (!Planted || b.warp_rank() != 0) b.sync();
    mine(b) = static_cast<float>(bits >> b.warp().lane() & 1u);
  }
  static float expected(int, int rank) { return rank % 2 == 0 ? 1 : 0; }
  static constexpr int last_line = __LINE__;
};

TEST(Divergence, SyncInBranch) {
  expect_found_always<sync_in_branch<true>>("no thread can go on. 63 threads (0 .. 16, 18 .. 63) are in sync at ");
  expect_found_always<sync_in_branch<true>>(" 1 thread (17) has ended.");
  expect_silent<sync_in_branch<false>>();
}
TEST(Divergence, EarlyReturnBeforeSync) {
  expect_found_always<early_return<true>>("no thread can go on. 60 threads (0 .. 59) are in sync at ");
  expect_found_always<early_return<true>>(" 4 threads (60 .. 63) have ended.");
  expect_silent<early_return<false>>();
}
TEST(Divergence, TwoSyncsAtDifferentLines) {
  expect_found_always<two_syncs<true>>("no thread can go on. 32 threads (0, 2, 4, ");
  for (emulation_options const& o : modes(false)) {
    outcome const result = run(two_syncs<true>{}, o);
    finding const* const f = expect_found<two_syncs<true>>(result, " 32 threads (1, 3, 5, ");
    ASSERT_NE(f, nullptr);
    EXPECT_EQ(other_lines_named(describe<two_syncs<true>>(), *f), 1) << f->text;
  }
  expect_silent<two_syncs<false>>();
}
TEST(Divergence, ShuffleInBranchThatDependsOnTheLane) {
  expect_found_always<shuffle_in_branch<true>>(
      "no thread can go on. 40 threads (0 .. 19, 32 .. 51) are in warp().shfl_xor at ");
  expect_silent<shuffle_in_branch<false>>();
}
TEST(Divergence, TwoShufflesInTwoBranches) {
  expect_found_always<two_shuffles<true>>("no thread can go on. 32 threads (0, 2, 4, ");
  expect_silent<two_shuffles<false>>();
}
TEST(Divergence, LaneOutsideTheWarp) {
  expect_found_always<bad_lane<true>>("shfl from lane 32, which lies outside 0 .. 31");
  expect_found_always<bad_mask<true>>("shfl_xor with mask 32, which lies outside 0 .. 31");
  expect_silent<bad_lane<false>>();
  expect_silent<bad_mask<false>>();
}
TEST(Divergence, BallotInOneWarpSyncInAnother) {
  expect_found_always<ballot_and_sync<true>>("no thread can go on. 32 threads (32 .. 63) are in sync at ");
  expect_silent<ballot_and_sync<false>>();
}
// Indices.

template <int Row, int Column> struct index_kernel : in_this_file {
  static constexpr int first_line = __LINE__;
  static constexpr launch_bounds bounds{threads, 1};
  template <class B> struct shared { typename B::template tile<float, 4, threads> t; };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    sh.t(1, b.rank()) = 5.0f;
    b.sync();
    float const x = b.rank() == 9 ? sh.t(Row, Column) : sh.t(1, 0);
    out[b.index().x * threads + b.rank()] = x;
  }
  static float expected(int, int) { return 5; }
  static constexpr int last_line = __LINE__;
};

TEST(Indices, OutsideTheTile) {
  expect_found_always<index_kernel<4, 0>>("index 4 of dimension 0 lies outside 0 .. 3");
  expect_found_always<index_kernel<-1, 0>>("index -1 of dimension 0 lies outside 0 .. 3");
  expect_found_always<index_kernel<1, std::numeric_limits<int>::min()>>(
      "index -2147483648 of dimension 1 lies outside 0 .. 63");
  expect_silent<index_kernel<1, 63>>();
}
TEST(Indices, OutsideTheRowButInsideTheTile) {
  expect_found_always<index_kernel<0, threads>>("index 64 of dimension 1 lies outside 0 .. 63");
}
}  // namespace
