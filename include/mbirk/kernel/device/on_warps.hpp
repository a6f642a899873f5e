// Runs the tasks of a pack kernel on the warps of a device; a warp takes the place of a host thread.
#pragma once

#include <cstddef>

#include "mbirk/exec/block.hpp"
#include "mbirk/kernel/shared/scratch.hpp"

namespace mbirk::kernel {

/// Placeholder for kernels without scratch.
struct no_scratch {};

/// Scratch memory of native kernels: `each` bytes per worker.
struct worker_scratch {
  std::byte* base;
  index_t each;
  MBIRK_HD native_scratch of(index_t worker) const noexcept { return {base + worker * each}; }
};

/// Worker w, a warp, runs tasks w, w + workers, ...: kernel(task) or kernel(task, scratch of the worker).
template <class Kernel, class Scratch> struct on_warps {
  static constexpr launch_bounds bounds{128, 1};
  static constexpr int warps = bounds.threads / warp_lanes;
  template <class B> struct shared {};

  Kernel kernel;
  index_t tasks, workers;
  Scratch scratch;

  template <class B> MBIRK_HD void operator()(B const& block, shared<B>&) const noexcept {
    index_t const worker = index_t{block.index().x} * warps + block.warp_rank();
    if (worker >= workers) return;  // uniform across the warp, and no block barrier follows
    for (index_t task = worker; task < tasks; task += workers) {
      if constexpr (requires { scratch.of(worker); }) kernel(task, scratch.of(worker));
      else kernel(task);
      block.warp().sync();  // the next task may overwrite what other lanes have read
    }
  }
};

}  // namespace mbirk::kernel
