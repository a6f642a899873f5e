// How the lists of instances/ become declarations (extern template, in programs that link mbirk::compiled) or definitions (in src/).
#pragma once

#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/launch.hpp"

/// One loop over the tasks of a kernel: MBIRK_DECLARE_KERNEL(scratch, kernel...). The kernel is variadic because its name may have commas.
#define MBIRK_DEFINE_KERNEL(Scratch, ...)                                                                                                \
  template void detail::run_tasks<exec::host, __VA_ARGS__, Scratch>(exec::host const&, index_t, int, __VA_ARGS__ const&, Scratch const&, \
                                                                    detail::task_observer*);
#define MBIRK_DECLARE_KERNEL(Scratch, ...) extern MBIRK_DEFINE_KERNEL(Scratch, __VA_ARGS__)

namespace mbirk::instances {

/// Contexts whose operations are compiled, and the back ends and scratch of their kernels. Names without commas, as macros need them.
using none_context = context<exec::host, instrument::none>;
using native_backend = simd::native_backend;
using native_scratch = kernel::worker_scratch;

}  // namespace mbirk::instances
