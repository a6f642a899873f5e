// The threads of exec::host: a pool that sleeps instead of spinning, so that a busy neighbour costs its share of the
// machine and not more.
#pragma once

#include <atomic>
#include <cstdint>
#include <latch>
#include <memory>
#include <mutex>

#include "mbirk/exec/processors.hpp"
#include "mbirk/exec/task_runner.hpp"
#include "mbirk/exec/thread_team.hpp"

namespace mbirk::exec {

/// A pool of threads that take the tasks of a loop one by one from a shared counter. A thread without work spins for at
/// most 20 microseconds and then sleeps. The caller works too, and never waits for a thread that has not begun, except
/// in run_at_once. Beside busy programs loops begin with fewer threads (detail::helper_limit).
///
/// Several threads may run loops at the same time, and tasks may run loops of their own: idle threads join whichever is
/// open. Threads are started when a loop first needs them: a loop that asks for more workers than the pool has makes it
/// grow.
///
/// fork(): the child starts threads of its own at its first loop. A task must not fork and go on in the child without
/// exec.
class thread_pool final : public task_runner {
 public:
  /// @param threads  number of threads that loops get by default, the caller included; 0 for available_processors().
  /// Starts none.
  explicit thread_pool(int threads = 0) : threads_(threads > 0 ? threads : available_processors()) {}
  thread_pool(thread_pool const&) = delete;
  thread_pool& operator=(thread_pool const&) = delete;
  /// No loop may be running.
  ~thread_pool() override {
    detail::thread_team* const team = team_.load(std::memory_order_acquire);
    if (team && team->generation() == detail::fork_generation::current())
      delete team;  // a parent's threads cannot be joined
  }

  int threads() const noexcept override { return threads_; }

  /// @throws thread_error when the system has not enough threads; whatever a task throws.
  void run(index_t tasks, int workers, task_ref task) override {
    if (workers <= 1 || tasks <= 1) {
      for (index_t i = 0; i < tasks; ++i) task(i, 0);
      return;
    }
    if (tasks < workers) workers = static_cast<int>(tasks);
    run(detail::loop_job{task, tasks, workers, false});
  }

  /// Calls task(i, worker) for every 0 <= i < workers at the same time: none begins before each has a thread of its
  /// own, so that tasks may wait for each other. It must not be called from inside a task, because it could wait for
  /// threads that wait for that task.
  /// @throws thread_error when the system has not enough threads or too many loops run; whatever a task throws.
  void run_at_once(int workers, task_ref task) {
    if (workers <= 1) {
      if (workers == 1) task(0, 0);
      return;
    }
    std::lock_guard const one_at_a_time(at_once_);  // two could wait for each other's threads
    std::latch all(workers);
    auto const together = [&](index_t i, int worker) {
      all.arrive_and_wait();
      task(i, worker);
    };
    run(detail::loop_job{task_ref(together), workers, workers, true});
  }

  /// Number of loops so far that had fewer threads for a time, because other programs had delayed one.
  std::int64_t limited_loops() const noexcept {
    detail::thread_team const* const team = team_.load(std::memory_order_acquire);
    return team ? team->limited_loops() : 0;
  }

 private:
  void run(detail::loop_job&& job) {
    detail::thread_team& team = team_of_this_process();
    team.grow(job.workers - 1);
    team.run(job);
  }

  detail::thread_team& team_of_this_process() {
    unsigned const generation = detail::fork_generation::current();
    detail::thread_team* team = team_.load(std::memory_order_acquire);
    while (!team || team->generation() != generation) {
      auto fresh = std::make_unique<detail::thread_team>(generation);
      if (team_.compare_exchange_strong(team, fresh.get(), std::memory_order_acq_rel)) team = fresh.release();
    }
    return *team;
  }

  int const threads_;
  std::atomic<detail::thread_team*> team_{nullptr};
  std::mutex at_once_;
};

namespace detail {

/// The pool of the process, made at first use, with available_processors() threads. It is never destroyed, so static
/// objects may still use it while the process ends; its threads sleep then.
inline thread_pool& process_pool() {
  static thread_pool& pool = *new thread_pool();
  return pool;
}

}  // namespace detail

}  // namespace mbirk::exec
