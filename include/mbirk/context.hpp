// context: where an operation runs and what is noticed, the first argument of every operation; and its temporaries.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include "mbirk/core/view.hpp"
#include "mbirk/exec/concepts.hpp"
#include "mbirk/instrument/concepts.hpp"
#include "mbirk/kernel/host/scratch.hpp"

namespace mbirk {

/// Two independent choices, by value: `context ctx{exec::host{}, instrument::none{}}`.
template <execution_policy Exec, instrumentation_policy Instr> struct context {
  using backend = typename Instr::template backend<typename Exec::backend>;

  Exec exec{};
  [[no_unique_address]] Instr instr{};
};
template <class Exec, class Instr> context(Exec, Instr) -> context<Exec, Instr>;

/// Memory of an operation, from the policy's resource, released when it goes out of scope. 64-byte aligned, not initialised.
/// With a dataless policy (the cost model) an array of samples or voxels is only announced, not allocated.
template <class T, class Context> class temporary {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// @throws allocation_error saying what was asked for.
  temporary(Context const& ctx, char const* name, index_t elements, bool needs_data = Context::backend::has_data)
      : ctx_(&ctx), name_(name), elements_(elements) {
    if (needs_data && elements > 0) {
      try {
        data_ = static_cast<T*>(ctx.exec.resource()->allocate(bytes(), 64));
      } catch (std::bad_alloc const&) {
        throw allocation_error("out of memory: " + std::to_string(bytes()) + " bytes for the temporary '" + name + "'", site::current());
      }
    }
    ctx.instr.allocated(name_, static_cast<index_t>(bytes()));
  }
  ~temporary() {
    if (data_) ctx_->exec.resource()->deallocate(data_, bytes(), 64);
    ctx_->instr.released(name_, static_cast<index_t>(bytes()));
  }
  temporary(temporary const&) = delete;
  temporary& operator=(temporary const&) = delete;

  T* data() const noexcept { return data_; }
  index_t size() const noexcept { return elements_; }
  char const* name() const noexcept { return name_; }

 private:
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(elements_) * sizeof(T); }

  Context const* ctx_;
  char const* name_;
  index_t elements_;
  T* data_ = nullptr;
};

/// A cursor at the first element of an array: what kernels read and write through. Without counting it is the pointer itself.
template <class Exec, class Instr, class T>
auto observe(context<Exec, Instr> const& ctx, T* data, array_info info) {
  if constexpr (requires { ctx.instr.observe(data, info); }) return ctx.instr.observe(data, info);
  else return data;
}
template <class Exec, class Instr, class T, int Rank>
auto observe(context<Exec, Instr> const& ctx, view<T, Rank> const& v, char const* name, array_role role) {
  return observe(ctx, v.data(), {name, role, v.span()});
}
template <class Exec, class Instr, class T>
auto observe(context<Exec, Instr> const& ctx, temporary<T, context<Exec, Instr>> const& t) {
  return observe(ctx, t.data(), {t.name(), array_role::temporary, t.size()});
}

/// Runs kernel(task) for every task, or kernel(task, scratch) when the kernel has a scratch layout. Kernels never throw.
template <class Exec, class Instr, class Kernel>
void launch(context<Exec, Instr> const& ctx, index_t tasks, Kernel const& kernel) {
  int const workers = Instr::serial ? 1 : ctx.exec.workers(tasks);
  if constexpr (requires { ctx.instr.launched(); }) ctx.instr.launched();
  if constexpr (requires { kernel.layout; }) {
    index_t const each = kernel.layout.bytes();
    temporary<std::byte, context<Exec, Instr>> memory(ctx, "scratch", workers * each, true);
    if constexpr (requires { ctx.instr.observe_scratch(kernel.layout, memory.data()); }) {
      auto const tallies = ctx.instr.observe_scratch(kernel.layout, memory.data());
      ctx.exec.for_each(tasks, workers, [&](index_t task, int) { kernel(task, ctx.instr.scratch(memory.data(), tallies)); });
    } else {
      ctx.exec.for_each(tasks, workers, [&](index_t task, int worker) { kernel(task, kernel::native_scratch{memory.data() + worker * each}); });
    }
  } else {
    ctx.exec.for_each(tasks, workers, [&](index_t task, int) { kernel(task); });
  }
}

/// Sum of entries first, first + step, ... of what the tasks of a kernel have written, in task order: every sum that decides something goes
/// through here. 0 under a policy without data.
template <class Context> double reduce(Context const&, temporary<double, Context> const& partial, index_t first = 0, index_t step = 1) {
  double sum = 0;
  if constexpr (Context::backend::has_data)
    for (index_t k = first; k < partial.size(); k += step) sum += partial.data()[k];
  return sum;
}

}  // namespace mbirk
