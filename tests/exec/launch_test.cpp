// Launches: every block and thread runs once, warp operations match plain loops, findings and values do not depend on
// the number of workers; also exceptions, and launches after failed ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "exec/planted.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;
using exec::emulation::warp;

struct no_memory {
  template <class B> struct shared {};
};

/// Counts its threads. Extents of the grid and of the block differ.
struct counting : no_memory {
  static constexpr launch_bounds bounds{96, 2};
  int* visits;
  index3 grid;
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    index3 const i = b.index();
    ++visits[((i.z * grid.y + i.y) * grid.x + i.x) * b.size() + b.rank()];
  }
};

TEST(Launch, EveryThreadOfEveryBlockRunsOnce) {
  for (index3 const grid : {index3{1000, 1, 1}, index3{3, 5, 2}, index3{1, 1, 7}}) {
    for (std::uint64_t const seed : {0, 5}) {
      for (int const workers : {1, 2, 5}) {
        std::vector<int> visits(static_cast<std::size_t>(grid.x * grid.y * grid.z * 96));
        exec::emulation::run(counting{{}, visits.data(), grid}, grid, {.seed = seed, .workers = workers}, pool());
        EXPECT_TRUE(std::all_of(visits.begin(), visits.end(), [](int n) { return n == 1; }));
      }
    }
  }
}
TEST(Launch, OfNoBlocks) {
  int visits = 0;
  exec::emulation::run(counting{{}, &visits, {0, 1, 1}}, {0, 4, 4}, {}, pool());
  EXPECT_EQ(visits, 0);
}
TEST(Launch, RefusesBadSizes) {
  EXPECT_THROW(exec::emulation::run(counting{}, {-1, 1, 1}, {}, pool()), parameter_error);
  EXPECT_THROW(exec::emulation::run(counting{}, {1, 1, 1}, {.preempt = -1}, pool()), parameter_error);
  EXPECT_THROW(exec::emulation::run(counting{}, {1, 1, 1}, {.workers = 0}, pool()), parameter_error);
}

/// The order in which threads and blocks run.
struct ordering : no_memory {
  static constexpr launch_bounds bounds{64, 1};
  std::vector<int>* order;
  void note(int thread) const {
    exec::emulation::tsan_hidden const h;  // forbidden in kernels, but safe here because one thread runs at a time
    order->push_back(thread);
  }
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    note(b.index().x * 64 + b.rank());
    b.sync();
    note(b.index().x * 64 + b.rank());
  }
};
std::vector<int> order_of(std::uint64_t seed) {
  std::vector<int> order;
  exec::emulation::run(ordering{{}, &order}, {9, 1, 1}, {.seed = seed}, pool());
  return order;
}
TEST(Launch, SeedZeroIsAscendingOthersAreNot) {
  std::vector<int> ascending;
  for (int block = 0; block < 9; ++block) {
    for (int interval = 0; interval < 2; ++interval) {
      for (int r = 0; r < 64; ++r) ascending.push_back(block * 64 + r);
    }
  }
  EXPECT_EQ(order_of(0), ascending);
  EXPECT_NE(order_of(1), ascending);
  EXPECT_NE(order_of(1), order_of(2));
  EXPECT_EQ(order_of(1), order_of(1));
}

/// Every warp operation of every type, against loops over the lanes.
struct warp_operations {
  static constexpr launch_bounds bounds{64, 1};
  template <class B> struct shared {};
  int* wrong;
  template <class T> static T value(int rank) {
    return static_cast<T>(rank * 37 % 64 - (std::is_signed_v<T> ? 20 : 0)) / 3;
  }
  template <class T, class Operation> static T butterfly(int warp, Operation const& op) {
    std::vector<T> x(32);
    for (int l = 0; l < 32; ++l) x[static_cast<std::size_t>(l)] = value<T>(32 * warp + l);
    for (std::size_t mask = 16; mask > 0; mask /= 2) {
      std::vector<T> y(32);
      for (std::size_t l = 0; l < 32; ++l) y[l] = op(x[l], x[l ^ mask]);
      x = y;
    }
    return x[0];
  }
  template <class T, class B> int check(B const& b) const {
    int const r = b.rank(), w = b.warp_rank(), lane = warp::lane();
    T const x = value<T>(r);
    int bad = b.warp().lane() != r % 32 || lane != r % 32;
    for (int k = 0; k < 32; ++k) {
      bad += warp::shfl(x, (lane + k) % 32) != value<T>(32 * w + (lane + k) % 32);
      bad += b.warp().shfl_xor(x, k) != value<T>(r ^ k);
    }
    if constexpr (sizeof(T) >= 4) {
      bad += warp::sum(x) != butterfly<T>(w, [](T a, T c) { return static_cast<T>(a + c); });
    }
    return bad;
  }
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    int bad = check<float>(b) + check<double>(b) + check<std::int32_t>(b) + check<std::uint32_t>(b) +
              check<std::int64_t>(b) + check<unsigned char>(b);
    unsigned expected = 0;
    for (int l = 0; l < 32; ++l) expected |= (l % 5 == b.warp_rank() ? 1u : 0u) << l;
    bad += warp::ballot(warp::lane() % 5 == b.warp_rank()) != expected;
    unsigned same = 0;
    for (int l = 0; l < 32; ++l) same |= (l % 5 == warp::lane() % 5 ? 1u : 0u) << l;
    bad += warp::match(warp::lane() % 5) != same;
    warp::sync();
    wrong[b.index().x * 64 + b.rank()] = bad;
  }
};
TEST(Launch, WarpOperations) {
  for (bool const check : {false, true}) {
    for (emulation_options const& o : modes(check)) {
      std::vector<int> wrong(3 * 64, -1);
      exec::emulation::run(warp_operations{wrong.data()}, {3, 1, 1}, o, pool());
      EXPECT_EQ(wrong, std::vector<int>(3 * 64, 0)) << text_of(o);
    }
  }
}
/// Races in some blocks, a fatal mistake in one, and values that depend on the order of the threads.
struct mixed_trouble {
  static constexpr launch_bounds bounds{64, 1};
  template <class B> struct shared { typename B::template tile<int, 64> t; };
  int* out;
  std::atomic<int>* turns;  // of each block
  int last;                 // the block with the fatal mistake
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    int const i = b.index().x;
    int const turn = turns[i]++;
    out[i * 64 + b.rank()] = turn;
    if (i % 7 == 3) sh.t(0) = turn;
    if (i % 7 == 5) sh.t(1) = turn;
    if (i == last && b.rank() == 11) sh.t(64) = 0;
  }
};
struct trouble {
  std::vector<std::string> texts;
  std::vector<int> out;
};
trouble run_trouble(std::uint64_t seed, int workers, int last) {
  trouble t;
  t.out.resize(40 * 64, -1);
  std::vector<std::atomic<int>> turns(40);
  try {
    exec::emulation::run(mixed_trouble{t.out.data(), turns.data(), last}, {40, 1, 1},
                         {.seed = seed, .check_races = true, .workers = workers}, pool());
  } catch (emulation_error const& e) {
    for (finding const& f : e.findings) t.texts.push_back(std::to_string(f.where.line) + ": " + f.text);
  }
  return t;
}
TEST(Launch, FindingsAndValuesDoNotDependOnTheNumberOfWorkers) {
  for (std::uint64_t const seed : {0, 1, 2, 3}) {
    for (int const last : {-1, 0, 17, 39}) {
      trouble const one = run_trouble(seed, 1, last);
      EXPECT_FALSE(one.texts.empty());
      for (int const workers : {2, 3, 7}) {
        trouble const many = run_trouble(seed, workers, last);
        EXPECT_EQ(many.texts, one.texts) << "seed " << seed << ", last " << last;
        if (last < 0) { EXPECT_EQ(many.out, one.out); }
      }
    }
  }
}

/// More mistakes than the limit on reported ones.
struct many_mistakes {
  static constexpr launch_bounds bounds{32, 1};
  template <class B> struct shared { typename B::template tile<int, 32> t; };
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    for (int line = 1; line <= 30; ++line) sh.t(line, source_location{"many.hpp", line}) = b.rank();
  }
};
TEST(Launch, TellsAtMostTwentyFindings) {
  try {
    exec::emulation::run(many_mistakes{}, {1, 1, 1}, {.check_races = true}, pool());
    FAIL();
  } catch (emulation_error const& e) {
    ASSERT_EQ(e.findings.size(), 20u);
    for (int k = 0; k < 20; ++k) EXPECT_EQ(e.findings[static_cast<std::size_t>(k)].where.line, k + 1);
    EXPECT_NE(std::string(e.what()).find("20 findings\nmany.hpp:1: block (0, 0, 0), thread 1: race: writes byte 4"),
              std::string::npos)
        << e.what();
    EXPECT_STREQ(e.where.file, "many.hpp");
  }
}

struct own_exception : std::runtime_error { using std::runtime_error::runtime_error; };

/// Throws in some blocks. Its destructors run.
struct throwing : no_memory {
  static constexpr launch_bounds bounds{64, 1};
  std::atomic<int>* ends;
  template <class B> void operator()(B const& b, shared<B>&) const {
    struct guard {
      std::atomic<int>* ends;
      ~guard() { ++*ends; }
    } const g{ends + b.index().x};
    b.sync();
    if (b.index().x >= 5 && b.rank() == 33) throw own_exception("block " + std::to_string(b.index().x));
  }
};
TEST(Launch, RethrowsTheFirstExceptionInOrder) {
  for (int const workers : {1, 2, 4}) {
    std::vector<std::atomic<int>> ends(30);
    try {
      exec::emulation::run(throwing{{}, ends.data()}, {30, 1, 1}, {.workers = workers}, pool());
      FAIL();
    } catch (own_exception const& e) {
      EXPECT_STREQ(e.what(), "block 5");
    }
    for (std::size_t block = 0; block < 5; ++block) EXPECT_EQ(ends[block], 64);
    EXPECT_EQ(ends[5], 34);  // threads 0 .. 33, the last of them by unwinding; the others were left
  }
}

/// Launches that fail while threads are suspended at many places, and launches that reuse their fibers.
TEST(Launch, AfterAFailedOneIsAsGoodAsNew) {
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t const seed : {0, 7}) {
      std::vector<int> wrong(3 * 64, -1);
      exec::emulation::run(warp_operations{wrong.data()}, {3, 1, 1}, {.seed = seed}, pool());
      EXPECT_EQ(wrong, std::vector<int>(3 * 64, 0));
      EXPECT_FALSE(run_trouble(seed, 1, 20).texts.empty());
      std::vector<std::atomic<int>> ends(6);
      EXPECT_THROW(exec::emulation::run(throwing{{}, ends.data()}, {6, 1, 1}, {.seed = seed}, pool()), own_exception);
    }
  }
}

/// Fibers made for one launch, and two launches at a time that share a pool.
TEST(Launch, WithoutAPoolAndTwiceAtATime) {
  std::vector<int> visits(2 * 96);
  exec::emulation::run(counting{{}, visits.data(), {2, 1, 1}}, {2, 1, 1}, {});
  EXPECT_EQ(visits, std::vector<int>(2 * 96, 1));
  EXPECT_EQ(exec::emulation::running, nullptr);

  std::vector<int> here(40 * 96), there(40 * 96);
  std::thread other([&] {
    exec::emulation::run(counting{{}, there.data(), {40, 1, 1}}, {40, 1, 1}, {.workers = 2}, pool());
  });
  exec::emulation::run(counting{{}, here.data(), {40, 1, 1}}, {40, 1, 1}, {.workers = 2}, pool());
  other.join();
  EXPECT_EQ(here, std::vector<int>(40 * 96, 1));
  EXPECT_EQ(there, here);
}

/// The largest block, shared memory of several shapes and types, values across the whole block.
struct large_block {
  static constexpr launch_bounds bounds{1024, 1};
  struct alignas(16) tap { int l = 0; float w0 = 1, w1 = 2, w2 = 3; };
  template <class B> struct shared {
    typename B::template tile<tap, 2, 512> taps;
    typename B::template tile<double, 4, 4, 8, 8> cube;
    typename B::template tile<std::int64_t, 8, 16, 8> box;
  };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    int const r = b.rank(), s = 1023 - r;
    sh.taps(r / 512, r % 512) = tap{r, 0.5f, 0.25f, 0.125f};
    sh.cube(r / 256, r / 64 % 4, r / 8 % 8, r % 8) = r;
    sh.box(r / 128, r / 8 % 16, r % 8) = r;
    b.sync();
    tap const t = sh.taps(s / 512, s % 512);
    double const d = sh.cube(s / 256, s / 64 % 4, s / 8 % 8, s % 8);
    std::int64_t const n = sh.box(s / 128, s / 8 % 16, s % 8);
    out[b.index().x * 1024 + r] = static_cast<float>(t.l) + t.w0 + static_cast<float>(d) + static_cast<float>(n);
  }
  static float expected(int, int rank) { return 3.0f * static_cast<float>(1023 - rank) + 0.5f; }
};
TEST(Launch, LargestBlock) { expect_silent<large_block>(2); }

/// Operations on elements beside plain assignment.
struct element_operations {
  static constexpr launch_bounds bounds{32, 1};
  template <class B> struct shared { typename B::template tile<int, 32> t; typename B::template tile<float, 2, 32> f; };
  float* out;
  template <class B> void operator()(B const& b, shared<B>& sh) const noexcept {
    int const r = b.rank();
    sh.t(r) = r;
    sh.t(r) += 5;
    sh.t(r) -= 1;
    sh.t(r) *= 6;
    sh.t(r) /= 2;
    ++sh.t(r);
    --sh.t(r);
    sh.t(r) |= 1;
    sh.t(r) &= 0xff;
    sh.t(r) ^= 1;
    sh.f(0, r) = static_cast<float>(sh.t(r));
    sh.f(1, r) = sh.f(0, r);  // copies the value, not the reference
    sh.f(0, r) = 0.0f;
    out[r] = sh.f(1, r);
  }
  static float expected(int, int rank) { return static_cast<float>(((rank + 4) * 3 | 1) ^ 1); }
};
TEST(Launch, ElementOperations) { expect_silent<element_operations>(1); }

}  // namespace
