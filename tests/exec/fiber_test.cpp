// Switches of both kinds: the hand-written one and the C library's.
#include "mbirk/exec/fiber.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <vector>

#include "exec/planted.hpp"

namespace {

using namespace mbirk;
using namespace mbirk::test;

template <class Context> struct Fiber : ::testing::Test {
  using fiber = exec::basic_fiber<Context>;
  static constexpr int count = 5;

  fiber home;
  exec::stacks memory{count};
  std::unique_ptr<fiber[]> fibers = std::make_unique<fiber[]>(count);
  std::vector<int> log;
  int rounds = 0;
  bool aligned = true;

  struct argument {
    Fiber* test;
    int rank;
  };
  std::vector<argument> arguments;

  void prepare(exec::fiber_body body) {
    home.adopt_thread();
    arguments.clear();
    for (int i = 0; i < count; ++i) arguments.push_back({this, i});
    for (int i = 0; i < count; ++i)
      fibers[static_cast<std::size_t>(i)].prepare(memory[i], body, &arguments[static_cast<std::size_t>(i)]);
  }
  fiber& at(int i) { return fibers[static_cast<std::size_t>(i)]; }
  /// ThreadSanitizer sees no ordering in a switch; all accesses here are ordered.
  void hand_on(fiber& from, fiber& to) {
    exec::emulation::tsan_release(&token);
    from.switch_to(to);
    exec::emulation::tsan_acquire(&token);
  }
  char token = 0;

  static argument begin(void* p) {
    auto* const a = static_cast<argument*>(p);
    void* token;
    {
      exec::emulation::tsan_hidden const h;
      token = &a->test->token;
    }
    exec::emulation::tsan_acquire(token);
    return *a;
  }

  /// Each fiber adds to its own sum and switches to the next; the last one of the last round switches home, as does
  /// every later one.
  [[noreturn]] static void chain(void* p) {
    auto const [test, rank] = begin(p);
    double sum = rank;
    for (int turn = 0;; ++turn) {
      alignas(32) volatile float wide[8] = {};
      test->aligned = test->aligned && reinterpret_cast<std::uintptr_t>(&wide) % 32 == 0;
      sum += 0.5;
      test->log.push_back(static_cast<int>(2 * sum));
      bool const last = rank + 1 == count;
      test->hand_on(test->at(rank), last && turn + 1 >= test->rounds ? test->home : test->at((rank + 1) % count));
    }
  }
  [[noreturn]] static void throwing(void* p) {
    auto const [test, rank] = begin(p);
    for (;;) {
      try {
        if (rank % 2 == 0) throw std::runtime_error("thrown in a fiber");
        test->log.push_back(-rank);
      } catch (std::runtime_error const&) {
        test->log.push_back(rank);
      }
      test->hand_on(test->at(rank), rank + 1 < count ? test->at(rank + 1) : test->home);
    }
  }
};

struct context_name {
  template <class Context> static char const* GetName(int) {
    return std::is_same_v<Context, exec::library_context> ? "Library" : "Assembly";
  }
};
#if defined(__x86_64__)
using contexts = ::testing::Types<exec::assembly_context, exec::library_context>;
#else
using contexts = ::testing::Types<exec::library_context>;
#endif
TYPED_TEST_SUITE(Fiber, contexts, context_name);

TYPED_TEST(Fiber, KeepsItsLocalsFromSwitchToSwitch) {
  this->rounds = 3;
  this->prepare(&TestFixture::chain);
  this->hand_on(this->home, this->at(0));
  std::vector<int> expected;
  for (int turn = 1; turn <= 3; ++turn) {
    for (int r = 0; r < this->count; ++r) expected.push_back(2 * r + turn);
  }
  EXPECT_EQ(this->log, expected);
  EXPECT_TRUE(this->aligned);
}

TYPED_TEST(Fiber, GoesOnAfterHomeOrStartsAgain) {
  this->rounds = 1;
  this->prepare(&TestFixture::chain);
  this->hand_on(this->home, this->at(0));
  this->log.clear();
  this->rounds = 2;
  this->hand_on(this->home, this->at(4));  // its second turn: home again
  EXPECT_EQ(this->log, std::vector<int>({8 + 2}));
  this->prepare(&TestFixture::chain);
  this->log.clear();
  this->hand_on(this->home, this->at(3));  // the order from the start is 3, 4, 0, 1, 2, 3, 4
  EXPECT_EQ(this->log, std::vector<int>({7, 9, 1, 3, 5, 8, 10}));
}

TYPED_TEST(Fiber, ThrowsAndCatches) {
  this->prepare(&TestFixture::throwing);
  for (int round = 0; round < 2; ++round) this->hand_on(this->home, this->at(0));
  EXPECT_EQ(this->log, std::vector<int>({0, -1, 2, -3, 4, 0, -1, 2, -3, 4}));
}

TEST(Stacks, AreApartAndLargeEnough) {
  exec::stacks const memory(40);
  for (int i = 0; i < memory.count(); ++i) {
    EXPECT_GE(memory[i].size, std::size_t{60} * 1024);
    if (i > 0) { EXPECT_GE(memory[i].bottom, memory[i - 1].bottom + memory[i - 1].size + exec::stacks::guard); }
    memory[i].bottom[0] = memory[i].bottom[memory[i].size - 1] = std::byte{1};
  }
}

/// Recursion without an end, or one frame that is larger than the stack.
template <bool Deep> struct overflowing {
  static constexpr launch_bounds bounds{32, 1};
  template <class B> struct shared {};
  float* out;
  [[gnu::noinline]] static int deeper(int n) {
    volatile int frame[100];
    frame[n % 100] = n;
    int const below = n < 0 ? 0 : deeper(n + 1);  // never negative before the stack ends
    return below + frame[n % 100];
  }
  [[gnu::noinline]] static int wide(int n) {
    unsigned char frame[100 * 1024];
    __asm__ volatile("" : : "r"(&frame) : "memory");  // otherwise the compiler keeps only the byte that is used
    frame[0] = static_cast<unsigned char>(n);
    __asm__ volatile("" : : "r"(&frame) : "memory");
    return frame[0];
  }
  template <class B> void operator()(B const& b, shared<B>&) const noexcept {
    out[b.rank()] = static_cast<float>(b.rank() != 7 ? 0 : Deep ? deeper(1) : wide(1));
  }
};

TEST(StackDeathTest, OverflowEndsTheProgram) {
  if (exec::emulation::address_sanitizer || exec::emulation::thread_sanitizer)
    GTEST_SKIP() << "sanitizers report the overflow in their own way";
  EXPECT_EXIT(run(overflowing<true>{}, {}, 1), ::testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(run(overflowing<false>{}, {}, 1), ::testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
