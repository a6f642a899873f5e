// How the lists of instances/ become declarations (extern template, in programs that link mbirk::compiled) or
// definitions (in src/).
//
// A header of instances/ lists the kernels and operations of a group as X-macros:
// MBIRK_..._KERNELS(X, B, S) calls X(scratch, kernel...) for kernels that run on the host and on the warps of a device,
// MBIRK_..._HOST_KERNELS(X, B, S) for those of the host only, and MBIRK_..._DEVICE_KERNELS(X, B) calls X(kernel...) for
// those of devices only. B is a back end, S its scratch memory, for kernels that need some.
// MBIRK_..._OPERATIONS(X, C) calls X(C, geometry, member, function, (parameters), (arguments), result) for every
// operation in a context C. The geometry is void for operations without a scan; `member` tells overloads apart.
#pragma once

#include "mbirk/exec/host.hpp"
#include "mbirk/geometry/list.hpp"
#include "mbirk/instrument/none.hpp"
#include "mbirk/launch.hpp"

/// One loop over the tasks of a kernel. The kernel is variadic because its name may have commas.
#define MBIRK_DEFINE_KERNEL(Scratch, ...)                            \
  template void detail::run_tasks<exec::host, __VA_ARGS__, Scratch>( \
      exec::host const&, index_t, int, __VA_ARGS__ const&, Scratch const&, detail::task_observer*);
#define MBIRK_DEFINE_OPERATION(C, G, member, function, parameters, arguments, ...) \
  template __VA_ARGS__ function parameters;
#define MBIRK_EXTERN_OPERATION(C, G, member, function, parameters, arguments, ...) \
  extern template __VA_ARGS__ function parameters;

// Where the library chooses among instruction sets, its operations are not the ones that the templates would make, so
// they are declared as specialisations, and its kernels are not declared at all.
#if defined(MBIRK_CALLS_DISPATCHED)
#define MBIRK_DECLARE_KERNEL(Scratch, ...)
#define MBIRK_DECLARE_OPERATION(C, G, member, function, parameters, arguments, ...) \
  template <> __VA_ARGS__ function parameters;
#else
#define MBIRK_DECLARE_KERNEL(Scratch, ...) extern MBIRK_DEFINE_KERNEL(Scratch, __VA_ARGS__)
#define MBIRK_DECLARE_OPERATION MBIRK_EXTERN_OPERATION
#endif

namespace mbirk::instances {

/// Contexts whose operations are compiled, and the back ends and scratch of their kernels. Names without commas, as
/// macros need them.
using none_context = context<exec::host, instrument::none>;
using native_backend = simd::native_backend;
using native_scratch = kernel::worker_scratch;

}  // namespace mbirk::instances
