// Device kernels compiled for exec::emulated once, for the program and the tests that link mbirk_emulated_instances.
#pragma once

#include "mbirk/exec/emulated.hpp"
#include "mbirk/instances/host.hpp"
#include "mbirk/instrument/counting.hpp"
#include "mbirk/mbirk.hpp"

/// A kernel for devices only, and one that runs on warps as well as on the host.
#define MBIRK_DEFINE_EMULATED_KERNEL(...) \
  template void exec::emulation::call_kernel<__VA_ARGS__>(void const*, exec::emulation::block_emulator&);
#define MBIRK_DEFINE_EMULATED_WARPS(Scratch, ...) \
  MBIRK_DEFINE_EMULATED_KERNEL(kernel::on_warps<__VA_ARGS__, Scratch>)
#define MBIRK_DECLARE_EMULATED_KERNEL(...) extern MBIRK_DEFINE_EMULATED_KERNEL(__VA_ARGS__)
#define MBIRK_DECLARE_EMULATED_WARPS(Scratch, ...) extern MBIRK_DEFINE_EMULATED_WARPS(Scratch, __VA_ARGS__)

/// One list for each source of this folder that does not count, and one of all: MODE is DECLARE or DEFINE.
#define MBIRK_EMULATED_PROJECTOR_KERNELS(MODE, B, S)            \
  MBIRK_PROJECTOR_KERNELS(MBIRK_##MODE##_EMULATED_WARPS, B, S)  \
  MBIRK_PROJECTOR_DEVICE_KERNELS(MBIRK_##MODE##_EMULATED_KERNEL, B)
#define MBIRK_EMULATED_RECON_KERNELS(MODE, B, S)                \
  MBIRK_RECON_KERNELS(MBIRK_##MODE##_EMULATED_WARPS, B, S)      \
  MBIRK_RECON_DEVICE_KERNELS(MBIRK_##MODE##_EMULATED_KERNEL, B, S)
#define MBIRK_EMULATED_OTHER_KERNELS(MODE, B, S)                \
  MBIRK_FILTER_KERNELS(MBIRK_##MODE##_EMULATED_WARPS, B, S)     \
  MBIRK_FILTER_DEVICE_KERNELS(MBIRK_##MODE##_EMULATED_KERNEL, B) \
  MBIRK_WEIGHT_KERNELS(MBIRK_##MODE##_EMULATED_WARPS, B, S)     \
  MBIRK_IMAGE_KERNELS(MBIRK_##MODE##_EMULATED_WARPS, B, S)      \
  MBIRK_IMAGE_DEVICE_KERNELS(MBIRK_##MODE##_EMULATED_KERNEL, B)
#define MBIRK_EMULATED_KERNELS(MODE, B, S)                      \
  MBIRK_EMULATED_PROJECTOR_KERNELS(MODE, B, S)                  \
  MBIRK_EMULATED_RECON_KERNELS(MODE, B, S)                      \
  MBIRK_EMULATED_OTHER_KERNELS(MODE, B, S)

namespace mbirk::instances {

using emulated_backend = exec::emulated::backend;
using emulated_scratch = kernel::worker_scratch;
using emulated_counted_backend = instrument::counting<>::backend<emulated_backend>;
using emulated_counted_scratch = detail::observed_scratch<instrument::counted_scratch>;

}  // namespace mbirk::instances

namespace mbirk {

MBIRK_EMULATED_KERNELS(DECLARE, instances::emulated_backend, instances::emulated_scratch)
#if !defined(MBIRK_EMULATED_NOT_COUNTED)
MBIRK_EMULATED_KERNELS(DECLARE, instances::emulated_counted_backend, instances::emulated_counted_scratch)
#endif

}  // namespace mbirk
