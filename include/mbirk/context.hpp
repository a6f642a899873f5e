// context: where an operation runs and what is observed, the first argument of every operation.
#pragma once

#include "mbirk/exec/concepts.hpp"
#include "mbirk/instrument/concepts.hpp"

namespace mbirk {

/// Two independent choices, by value: `context ctx{exec::host{}, instrument::none{}}`.
template <execution_policy Exec, instrumentation_policy Instr> struct context {
  using backend = typename Instr::template backend<typename Exec::backend>;

  Exec exec{};
  [[no_unique_address]] Instr instr{};
};
template <class Exec, class Instr> context(Exec, Instr) -> context<Exec, Instr>;

/// Whether kernels run in blocks of threads, on memory that the host does not share.
template <class Context> inline constexpr bool on_device = block_policy<decltype(Context::exec)>;

/// Where the things run that an operation decides on the host, e.g. which pixels a subset has: the context itself, or one beside its device.
template <class Exec, class Instr> auto host_context_of(context<Exec, Instr> const& ctx) {
  if constexpr (block_policy<Exec>) return context<typename Exec::host_side, Instr>{ctx.exec.host_companion(), ctx.instr};
  else return ctx;
}

}  // namespace mbirk
