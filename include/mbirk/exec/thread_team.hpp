// The threads of a pool and the loops that they work on. thread_pool.hpp is the pool that users make. Not for users.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <signal.h>
#include <time.h>
#else
#include <chrono>
#endif
#if defined(__linux__)
#include <sched.h>
#include <unistd.h>
#endif

#include "mbirk/core/error.hpp"
#include "mbirk/exec/processors.hpp"
#include "mbirk/exec/task_runner.hpp"

namespace mbirk::exec {

namespace detail {

/// Counts the forks between the first process and this one. A child has none of the threads that its parent started.
class fork_generation {
 public:
  static unsigned current() noexcept {
    static bool const registered = watch();
    (void)registered;
    return count_.load(std::memory_order_relaxed);
  }

 private:
  static bool watch() noexcept {
#if defined(__unix__) || defined(__APPLE__)
    return pthread_atfork(nullptr, nullptr, [] { count_.fetch_add(1, std::memory_order_relaxed); }) == 0;
#else
    return false;
#endif
  }
  static inline std::atomic<unsigned> count_{0};
};

inline void pause_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Nanoseconds of the steady clock, without <chrono> where it is not needed: every program would have to read it.
inline std::int64_t read_steady_clock() noexcept {
#if defined(__unix__) || defined(__APPLE__)
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return std::int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec;
#else
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
#endif
}
/// How long a thread without work spins before it sleeps, in nanoseconds. Waking it takes about as long, and most loops
/// follow each other sooner.
inline constexpr std::int64_t spin_time = 20'000;

/// Nanoseconds of processor time that the calling thread has had; 0 where the system does not say.
inline std::int64_t read_thread_clock() noexcept {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec t{};
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0) return std::int64_t{1'000'000'000} * t.tv_sec + t.tv_nsec;
#endif
  return 0;
}

/// Spins until done() holds, at most until the steady clock shows `end`; returns whether it holds.
template <class Done> bool spin_until(Done const& done, std::int64_t end) noexcept {
  do {
    for (int k = 0; k < 16; ++k) {
      if (done()) return true;
      pause_processor();
    }
  } while (read_steady_clock() < end);
  return done();
}

/// Threads that start during its lifetime receive no signals of others: handlers of the program run on its own threads.
/// Signals that a thread causes itself, such as SIGSEGV, stay: blocked, they would end the process without its handler.
class signals_blocked {
 public:
#if defined(__unix__) || defined(__APPLE__)
  signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (int const own : {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP}) sigdelset(&all, own);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(signals_blocked const&) = delete;
  signals_blocked& operator=(signals_blocked const&) = delete;

 private:
  sigset_t before_;
#endif
};

/// Lets the calling thread run where the main thread of the process may. A new thread has the mask of the thread that
/// started it, which may be pinned.
inline void use_processors_of_main_thread() noexcept {
#if defined(__linux__)
  cpu_set_t processors;
  if (sched_getaffinity(getpid(), sizeof processors, &processors) == 0)
    sched_setaffinity(0, sizeof processors, &processors);
#endif
}

/// A loop in progress; lives on the stack of its caller.
struct loop_job {
  task_ref task;
  index_t tasks;
  std::atomic<int> workers;
  bool at_once;  // the tasks wait for each other, so each needs a thread
  alignas(64) std::atomic<index_t> next{0};
  std::atomic<int> joined{1};             // the caller is worker 0
  std::atomic<std::int64_t> computed{0};  // the most processor time of a helper, nanoseconds; 0 for short loops
  std::atomic<bool> failed{false};
  std::exception_ptr error{};
};

/// How many threads loops get beside other programs. A helper that loses its processor in the middle of a task keeps
/// its loop waiting for a slice of time, some milliseconds, which is many times as long as a short loop takes; so does
/// a caller that cannot get its processor back after a wait. Then, for some time, loops begin with one thread less, and
/// get it when they have taken as long as that wait.
class helper_limit {
 public:
  struct terms {
    int workers;
    std::int64_t nanoseconds;  ///< after which the loop gets all of its workers
  };
  /// Shorter waits are normal, and nothing is learned from them.
  static constexpr std::int64_t least_wait = 500'000;

  terms of(int workers, std::int64_t now) noexcept {
    if (now >= until_.load(std::memory_order_relaxed)) return {workers, 0};
    limited_loops_.fetch_add(1, std::memory_order_relaxed);
    return {std::max(1, workers - left_out_.load(std::memory_order_relaxed)), waited_.load(std::memory_order_relaxed)};
  }
  /// Learns from a loop that wanted `wanted` workers and had `had`. Its caller worked for `worked` nanoseconds and then
  /// waited for `waited`; `computed` is the most processor time of a helper. If a helper computed during most of the
  /// wait, that was for a long task, and nothing is learned. A task that sleeps looks like one without a processor.
  void learn(int wanted, int had, std::int64_t worked, std::int64_t waited, std::int64_t computed,
             std::int64_t now) noexcept {
    constexpr std::int64_t most = 10'000'000;
    if (waited < std::max(least_wait, 2 * worked) || computed > worked + waited / 2) return;
    left_out_.store(wanted - had + 1, std::memory_order_relaxed);
    waited_.store(std::min(waited, most), std::memory_order_relaxed);
    until_.store(now + 8 * std::min(waited, most), std::memory_order_relaxed);
  }
  std::int64_t limited_loops() const noexcept { return limited_loops_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> until_{0}, waited_{0}, limited_loops_{0};
  std::atomic<int> left_out_{1};
};

/// The threads of a pool and the loops that they may join. Each process has its own: a child of fork() makes another.
class thread_team {
 public:
  explicit thread_team(unsigned generation) : generation_(generation), processors_(available_processors()) {}
  thread_team(thread_team const&) = delete;
  thread_team& operator=(thread_team const&) = delete;
  ~thread_team() {
    stopping_.store(true, std::memory_order_release);
    epoch_.fetch_add(1);
    epoch_.notify_all();
    for (auto& thread : threads_) thread.join();
  }

  unsigned generation() const noexcept { return generation_; }
  std::int64_t limited_loops() const noexcept { return limit_.limited_loops(); }

  /// Starts threads until there are `helpers`. @throws thread_error when the system has no more.
  void grow(int helpers) {
    if (size_.load(std::memory_order_acquire) >= helpers) return;
    std::lock_guard const lock(growing_);
    try {
      signals_blocked const none;
      threads_.reserve(static_cast<std::size_t>(helpers));
      while (static_cast<int>(threads_.size()) < helpers) {
        threads_.emplace_back([this] { serve(); });
        size_.store(static_cast<int>(threads_.size()), std::memory_order_release);
      }
    } catch (std::system_error const& e) {
      throw thread_error("cannot start thread " + std::to_string(threads_.size() + 2) + " of " +
                             std::to_string(helpers + 1) + ": " + e.what() +
                             ", expected a number of threads that the system allows",
                         source_location::current());
    }
  }

  void run(loop_job& job) {
    slot* const place = claim();
    if (place) {
      run(job, *place);
      place->state.store(0, std::memory_order_release);
    } else if (job.at_once) {
      throw thread_error("cannot run " + std::to_string(job.tasks) + " tasks at once beside " +
                             std::to_string(slot_count) + " other loops, expected fewer loops",
                         source_location::current());
    } else {  // there are more concurrent callers than slots: this one works alone
      work_on(job, 0, [] {});
    }
    if (job.error) std::rethrow_exception(job.error);
  }

 private:
  // The state of a slot: whether helpers may join, whether it has a loop, whether its caller sleeps, and how many
  // helpers are inside.
  static constexpr std::uint32_t open = 1u << 31, claimed = 1u << 30, waiting = 1u << 29, helpers_mask = waiting - 1;
  static constexpr int slot_count = 16;
  struct alignas(64) slot {
    std::atomic<std::uint32_t> state{0};
    loop_job* job = nullptr;
  };

  slot* claim() noexcept {
    for (slot& s : slots_) {
      std::uint32_t free = 0;
      if (s.state.compare_exchange_strong(free, claimed, std::memory_order_acquire)) return &s;
    }
    return nullptr;
  }
  static void close(slot& s) noexcept { s.state.fetch_and(~open, std::memory_order_release); }
  /// Lets helpers join a loop.
  void open_to(int workers, loop_job& job, slot& place) noexcept {
    job.workers.store(workers, std::memory_order_relaxed);
    place.state.fetch_or(open, std::memory_order_release);
    epoch_.fetch_add(1);
    wake(workers - 1);
  }

  void run(loop_job& job, slot& place) {
    place.job = &job;
    std::int64_t const begin = read_steady_clock();
    int const wanted = job.workers;
    auto const [first, limited] = job.at_once ? helper_limit::terms{wanted, 0} : limit_.of(wanted, begin);
    if (first > 1) open_to(first, job, place);
    if (limited > 0 && !work_until(job, begin + limited)) {
      close(place);
    } else {
      if (limited > 0) open_to(wanted, job, place);
      work_on(job, 0, [&] { close(place); });
    }
    auto const worked_until = read_steady_clock();
    wait_for_helpers(place);
    if (job.at_once) return;
    auto const end = read_steady_clock();
    limit_.learn(wanted, job.workers, worked_until - begin, end - worked_until,
                 job.computed.load(std::memory_order_relaxed), end);
  }

  void wake(int helpers) noexcept {
    if (helpers >= size_.load(std::memory_order_relaxed)) {
      epoch_.notify_all();
    } else {
      for (int k = 0; k < helpers; ++k) epoch_.notify_one();
    }
  }

  /// Takes a task. @return whether there was one
  static bool work_on_next(loop_job& job, int worker) noexcept {
    index_t const i = job.next.fetch_add(1, std::memory_order_relaxed);
    if (i >= job.tasks) return false;
    try {
      job.task(i, worker);
    } catch (...) {
      if (!job.failed.exchange(true)) job.error = std::current_exception();
      job.next.store(job.tasks, std::memory_order_relaxed);
    }
    return true;
  }

  /// The caller alone takes tasks. @return whether some may be left at the end of its time
  static bool work_until(loop_job& job, std::int64_t end) noexcept {
    while (read_steady_clock() < end)
      if (!work_on_next(job, 0)) return false;
    return job.next.load(std::memory_order_relaxed) < job.tasks;
  }

  /// Takes tasks one by one until none is left, so that a thread that loses its processor delays one task and not a
  /// share of the loop.
  template <class Close> static void work_on(loop_job& job, int worker, Close const& close_loop) noexcept {
    while (work_on_next(job, worker)) {}
    close_loop();  // a late helper neither joins in vain nor is waited for
  }

  /// Works like work_on, and records how long the thread computed.
  void help_with(loop_job& job, int worker, slot& s) noexcept {
    auto const begin = read_steady_clock(), had = read_thread_clock();
    work_on(job, worker, [&] { close(s); });
    if (read_steady_clock() - begin < helper_limit::least_wait) return;
    auto const computed = read_thread_clock() - had;
    auto most = job.computed.load(std::memory_order_relaxed);
    while (computed > most && !job.computed.compare_exchange_weak(most, computed, std::memory_order_relaxed)) {}
  }

  void wait_for_helpers(slot& s) const noexcept {
    auto const left = [&] { return s.state.load(std::memory_order_acquire) & helpers_mask; };
    if (left() == 0 || (may_spin() && spin_until([&] { return left() == 0; }, read_steady_clock() + spin_time))) return;
    std::uint32_t now = s.state.fetch_or(waiting, std::memory_order_acquire) | waiting;
    while ((now & helpers_mask) != 0) {
      s.state.wait(now, std::memory_order_acquire);
      now = s.state.load(std::memory_order_acquire);
    }
  }

  /// Joins a loop, if one is open, and works on it.
  bool help() noexcept {
    for (slot& s : slots_) {
      std::uint32_t now = s.state.load(std::memory_order_relaxed);
      while ((now & open) != 0 &&
             !s.state.compare_exchange_weak(now, now + 1, std::memory_order_acquire, std::memory_order_relaxed)) {}
      if ((now & open) == 0) continue;
      loop_job& job = *s.job;
      int const worker = job.joined.fetch_add(1, std::memory_order_relaxed);
      if (worker + 1 >= job.workers) close(s);
      if (worker < job.workers) help_with(job, worker, s);
      std::uint32_t const after =
          s.state.fetch_sub(1, std::memory_order_release) - 1;  // the job may no longer exist from here on
      if ((after & helpers_mask) == 0 && (after & waiting) != 0) s.state.notify_one();
      return true;
    }
    return false;
  }

  void serve() noexcept {
    use_processors_of_main_thread();
    auto sleep_at = read_steady_clock() + spin_time;
    for (;;) {
      std::uint32_t const seen = epoch_.load();
      if (stopping_.load(std::memory_order_acquire)) return;
      if (help()) {
        sleep_at = read_steady_clock() + spin_time;
        continue;
      }
      auto const changed = [&] { return epoch_.load(std::memory_order_relaxed) != seen; };
      if (!may_spin() || !spin_until(changed, sleep_at)) epoch_.wait(seen);
    }
  }

  /// With more threads than processors, a spinning thread would take a processor from a working one.
  bool may_spin() const noexcept { return size_.load(std::memory_order_relaxed) < processors_; }

  unsigned const generation_;
  int const processors_;
  slot slots_[slot_count];
  alignas(64) std::atomic<std::uint32_t> epoch_{0};  // changes whenever a loop opens; helpers sleep on it
  std::atomic<bool> stopping_{false};
  std::atomic<int> size_{0};
  helper_limit limit_;
  std::mutex growing_;
  std::vector<std::thread> threads_;
};

}  // namespace detail

}  // namespace mbirk::exec
