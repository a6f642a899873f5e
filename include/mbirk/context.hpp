// The context is the first argument of every operation: it says where the operation runs and how it is instrumented.
#pragma once

#include "mbirk/exec/concepts.hpp"
#include "mbirk/instrument/concepts.hpp"

namespace mbirk {

/// Execution policy and instrumentation policy, held by value and independent of each other:
/// `context ctx{exec::host{}, instrument::none{}}`.
template <execution_policy Exec, instrumentation_policy Instr> struct context {
  using backend = typename Instr::template backend<typename Exec::backend>;

  Exec exec{};
  [[no_unique_address]] Instr instr{};
};
template <class Exec, class Instr> context(Exec, Instr) -> context<Exec, Instr>;

/// Whether kernels run in blocks of threads, in memory that the host does not share.
template <class Context> inline constexpr bool on_device = block_policy<decltype(Context::exec)>;

/// Context for the decisions that an operation makes on the host, such as the pixels of a subset: the context itself,
/// or the host companion of its device.
template <class Exec, class Instr> auto host_context_of(context<Exec, Instr> const& ctx) {
  if constexpr (block_policy<Exec>)
    return context<typename Exec::host_side, Instr>{ctx.exec.host_companion(), ctx.instr};
  else return ctx;
}

}  // namespace mbirk
