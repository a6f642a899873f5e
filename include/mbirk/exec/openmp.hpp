// Loops of exec::host on OpenMP's threads, for programs that want one team of threads for everything. Compile with
// -fopenmp.
#pragma once

#if !defined(_OPENMP)
#error "mbirk/exec/openmp.hpp needs OpenMP: compile with -fopenmp"
#endif

#include <omp.h>

#include <atomic>
#include <exception>

#include "mbirk/exec/task_runner.hpp"

namespace mbirk::exec {

/// `openmp_runner runner; context ctx{exec::host{runner}, ...}`. OpenMP's own rules hold: nested loops run on one
/// thread unless nesting is on, and waiting threads spin unless OMP_WAIT_POLICY=passive is set. On a machine that is
/// shared with others this can be hundreds of times slower than thread_pool.
class openmp_runner final : public task_runner {
 public:
  int threads() const noexcept override { return omp_get_max_threads(); }

  void run(index_t tasks, int workers, task_ref task) override {
    std::exception_ptr error;
    std::atomic<bool> failed{false};
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers)
    for (index_t i = 0; i < tasks; ++i) {
      if (failed.load(std::memory_order_relaxed)) continue;
      try {
        task(i, omp_get_thread_num());
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
    }
    if (error) std::rethrow_exception(error);
  }
};

}  // namespace mbirk::exec
