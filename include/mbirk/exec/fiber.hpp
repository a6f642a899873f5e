// Fibers: execution stacks that take turns on one OS thread. A switch costs a call of thirteen instructions on x86-64;
// other processors use ucontext.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "mbirk/core/error.hpp"
#include "mbirk/exec/emulation/sanitizer.hpp"

namespace mbirk::exec {

/// Memory of one stack, lowest address first.
struct stack_memory {
  std::byte* bottom = nullptr;
  std::size_t size = 0;
};

/// Stacks in one mapping, each above a guard range that faults: an overflow ends the program instead of overwriting a
/// neighbour.
class stacks {
 public:
  // Sanitizers enlarge stack frames several times. Pages are committed only where a stack actually grows.
  static constexpr std::size_t size = (emulation::address_sanitizer || emulation::thread_sanitizer ? 256 : 64) * 1024;
  static constexpr std::size_t guard = 64 * 1024;  // wide enough that a frame with a large array cannot skip it

  explicit stacks(int count) : count_(count) {
    // The stride is one page more than a power of two, so that the stacks do not compete for the same cache sets.
    stride_ = guard + size + static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t const bytes = stride_ * static_cast<std::size_t>(count);
    void* const p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require<allocation_error>(p != MAP_FAILED, [&] {
      return "cannot map " + std::to_string(bytes) + " bytes for the stacks of " + std::to_string(count) + " fibers";
    });
    base_ = static_cast<std::byte*>(p);
    bool guarded = true;
    for (int i = 0; i < count; ++i)
      guarded = guarded && mprotect(base_ + stride_ * static_cast<std::size_t>(i), guard, PROT_NONE) == 0;
    if (!guarded) munmap(base_, bytes);
    require<allocation_error>(guarded, [&] {
      return "cannot protect the ends of the stacks of " + std::to_string(count) + " fibers: too many mappings";
    });
  }
  stacks(stacks const&) = delete;
  stacks& operator=(stacks const&) = delete;
  ~stacks() {
    std::size_t const bytes = stride_ * static_cast<std::size_t>(count_);
    if constexpr (emulation::address_sanitizer) emulation::__asan_unpoison_memory_region(base_, bytes);
    munmap(base_, bytes);
  }

  int count() const noexcept { return count_; }
  stack_memory operator[](int i) const noexcept {
    // Spreads the first frames over different cache lines, too.
    std::size_t const colour = static_cast<std::size_t>(i) * 5 % 64 * 64;
    return {base_ + stride_ * static_cast<std::size_t>(i) + guard, stride_ - guard - colour};
  }

 private:
  int count_;
  std::size_t stride_;
  std::byte* base_;
};

/// Entry function of a fiber; it never returns.
using fiber_body = void (*)(void* argument);

#if defined(__x86_64__)
namespace detail {

/// Pushes the callee-saved registers, stores the stack pointer in *from, and returns to the point where `to` was
/// suspended.
#if !defined(__clang__)
[[gnu::noipa]]  // otherwise the caller infers from the body which registers survive
#endif
[[gnu::naked, gnu::noinline]] inline void switch_stacks(void** /*from*/, void* /*to*/) {
  __asm__(
      "pushq %rbp\n\tpushq %rbx\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
      "movq %rsp, (%rdi)\n\tmovq %rsi, %rsp\n\t"
      "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\tret");
}
/// Return address of the first switch to a stack: the body is in rbx, its argument in r12.
[[gnu::naked, gnu::noinline]] inline void enter_stack() { __asm__("movq %r12, %rdi\n\tcallq *%rbx\n\tud2"); }

}  // namespace detail

/// Suspended execution state, switched by hand-written assembly: no system call, no signal mask, no floating-point
/// control word.
class assembly_context {
 public:
  void prepare(stack_memory stack, fiber_body body, void* argument) {
    auto const top = reinterpret_cast<std::uintptr_t>(stack.bottom + stack.size) & ~std::uintptr_t{15};
    // In order: r15 r14 r13 r12 rbx rbp, the address that `ret` takes, and a zero where a debugger looks for the
    // caller.
    std::uint64_t const frame[] = {0,
                                   0,
                                   0,
                                   reinterpret_cast<std::uint64_t>(argument),
                                   reinterpret_cast<std::uint64_t>(body),
                                   0,
                                   reinterpret_cast<std::uint64_t>(&detail::enter_stack),
                                   0};
    // The offset of 8 aligns the stack to 16 bytes at the call.
    auto* const at = reinterpret_cast<std::uint64_t*>(top - 8 - sizeof frame);
    for (std::size_t i = 0; i < sizeof frame / sizeof *frame; ++i) at[i] = frame[i];
    end_ = at;
  }
  __attribute__((no_sanitize("thread"))) void go(assembly_context& to) { detail::switch_stacks(&end_, to.end_); }

 private:
  void* end_ = nullptr;
};
#endif

/// Suspended execution state of the C library (ucontext). Each switch makes a system call for the signal mask, which
/// makes it ten times slower.
class library_context {
 public:
  library_context() = default;
  library_context(library_context const&) = delete;  // the library may point into it
  library_context& operator=(library_context const&) = delete;

  void prepare(stack_memory stack, fiber_body body, void* argument) {
    getcontext(&state_);
    state_.uc_stack.ss_sp = stack.bottom;
    state_.uc_stack.ss_size = stack.size;
    state_.uc_link = nullptr;
    auto const b = reinterpret_cast<std::uintptr_t>(body), a = reinterpret_cast<std::uintptr_t>(argument);
    makecontext(&state_, reinterpret_cast<void (*)()>(&enter), 4, high(b), low(b), high(a), low(a));
  }
  __attribute__((no_sanitize("thread"))) void go(library_context& to) { swapcontext(&state_, &to.state_); }

 private:
  // makecontext passes only int.
  static unsigned high(std::uintptr_t x) { return static_cast<unsigned>(static_cast<std::uint64_t>(x) >> 32); }
  static unsigned low(std::uintptr_t x) { return static_cast<unsigned>(x); }
  static void* joined(unsigned h, unsigned l) {
    return reinterpret_cast<void*>(static_cast<std::uintptr_t>(std::uint64_t{h} << 32 | l));
  }
  static void enter(unsigned body_high, unsigned body_low, unsigned high, unsigned low) {
    reinterpret_cast<fiber_body>(joined(body_high, body_low))(joined(high, low));
  }
  ucontext_t state_{};
};

/// Suspended execution state together with the sanitizers' bookkeeping. An object without `prepare` stands for the OS
/// thread that switches from it.
template <class Context> class basic_fiber {
 public:
  basic_fiber() = default;
  basic_fiber(basic_fiber const&) = delete;
  basic_fiber& operator=(basic_fiber const&) = delete;
  ~basic_fiber() { forget(); }

  /// The next switch enters body(argument), whatever the fiber did before: its abandoned frames never run again.
  void prepare(stack_memory stack, fiber_body body, void* argument) {
    forget();
    stack_ = stack;
    body_ = body;
    argument_ = argument;
    if constexpr (emulation::address_sanitizer) emulation::__asan_unpoison_memory_region(stack.bottom, stack.size);
    if constexpr (emulation::thread_sanitizer) {
      tsan_ = emulation::__tsan_create_fiber(0);
      owned_ = true;
    }
    context_.prepare(stack, &basic_fiber::enter, this);
  }

  /// Declares that *this stands for the OS thread itself, from which prepared fibers will be entered.
  void adopt_thread() {
    if constexpr (emulation::thread_sanitizer) tsan_ = emulation::__tsan_get_current_fiber();
  }

  /// Suspends this fiber and resumes `to`; returns when another fiber switches back.
  __attribute__((no_sanitize("thread"))) void switch_to(basic_fiber& to) {
    if constexpr (emulation::address_sanitizer) {
      to.from_ = this;
      emulation::__sanitizer_start_switch_fiber(&fake_stack_, to.stack_.bottom, to.stack_.size);
    }
    // Flag 1: the switch does not order memory.
    if constexpr (emulation::thread_sanitizer) emulation::__tsan_switch_to_fiber(to.tsan_, 1);
    context_.go(to.context_);
    if constexpr (emulation::address_sanitizer) arrived();
  }

 private:
  __attribute__((no_sanitize("thread"))) static void enter(void* self) {
    auto& f = *static_cast<basic_fiber*>(self);
    if constexpr (emulation::address_sanitizer) {
      f.arrived();
      emulation::__asan_handle_no_return();  // discards the records of abandoned frames
    }
    f.body_(f.argument_);
  }
  // When the OS thread is left, the sanitizer returns the location of its stack.
  void arrived() {
    void const* bottom = nullptr;
    std::size_t size = 0;
    emulation::__sanitizer_finish_switch_fiber(fake_stack_, &bottom, &size);
    from_->stack_ = {static_cast<std::byte*>(const_cast<void*>(bottom)), size};
  }
  void forget() {
    if constexpr (emulation::thread_sanitizer) {
      if (owned_) emulation::__tsan_destroy_fiber(tsan_);
      owned_ = false;
    }
  }

  Context context_;
  stack_memory stack_;
  fiber_body body_ = nullptr;
  void* argument_ = nullptr;
  void* fake_stack_ = nullptr;
  basic_fiber* from_ = nullptr;
  void* tsan_ = nullptr;
  bool owned_ = false;
};

#if defined(__x86_64__)
using fiber = basic_fiber<assembly_context>;
#else
using fiber = basic_fiber<library_context>;
#endif

}  // namespace mbirk::exec
