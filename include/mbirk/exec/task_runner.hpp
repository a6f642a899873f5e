// The interface that exec::host runs its loops on: anything that can run n tasks. thread_pool.hpp is the default,
// openmp.hpp an alternative.
#pragma once

#include "mbirk/core/index.hpp"

namespace mbirk::exec {

/// A reference to a callable task(index, worker). Does not own it.
class task_ref {
 public:
  template <class Task> explicit task_ref(Task const& task) noexcept
      : object_(&task), call_([](void const* object, index_t index, int worker) {
          (*static_cast<Task const*>(object))(index, worker);
        }) {}

  void operator()(index_t index, int worker) const { call_(object_, index, worker); }

 private:
  void const* object_;
  void (*call_)(void const*, index_t, int);
};

/// Runs the tasks of a loop, on whatever threads it has. Derive from it to run mbirk on a scheduler of your own:
///
///     struct tbb_runner final : mbirk::exec::task_runner {
///       int threads() const noexcept override { return tbb::this_task_arena::max_concurrency(); }
///       void run(index_t tasks, int workers, task_ref task) override {
///         tbb::task_arena arena(workers);
///         auto const run_task = [&](index_t i) { task(i, tbb::this_task_arena::current_thread_index()); };
///         arena.execute([&] {
///           tbb::parallel_for(index_t{0}, tasks, run_task);
///         });
///       }
///     };
///     tbb_runner runner;
///     context ctx{exec::host{runner}, instrument::none{}};
class task_runner {
 public:
  virtual ~task_runner() = default;

  /// Number of threads a loop gets when the caller asks for no number.
  virtual int threads() const noexcept = 0;

  /// Calls task(i, worker) once for every 0 <= i < tasks, with 0 <= worker < workers, and returns when all calls have
  /// returned. Calls that run at the same time have different workers. Tasks write disjoint memory: results depend
  /// neither on the order nor on the worker. May be called from several threads at once and from inside a task. An
  /// exception thrown by a task is rethrown to the caller; then the remaining tasks may be skipped.
  virtual void run(index_t tasks, int workers, task_ref task) = 0;

 protected:
  task_runner() = default;
  task_runner(task_runner const&) = default;
  task_runner& operator=(task_runner const&) = default;
};

}  // namespace mbirk::exec
