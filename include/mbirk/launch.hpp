// Runs kernels: what they read and write through, their scratch, and the loop over their tasks.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "mbirk/context.hpp"
#include "mbirk/core/config.hpp"
#include "mbirk/instrument/kernel_name.hpp"
#include "mbirk/kernel/device/on_warps.hpp"
#include "mbirk/kernel/shared/scratch.hpp"
#include "mbirk/memory.hpp"

namespace mbirk {

/// A cursor at the first element of an array: what kernels read and write through. Without counting it is the pointer
/// itself.
template <class Exec, class Instr, class T> auto observe(context<Exec, Instr> const& ctx, T* data, array_info info) {
  if constexpr (Instr::traits.observes_arrays) return ctx.instr.observe(data, info);
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

template <class Exec, class Instr, class T>
auto observe(context<Exec, Instr> const& ctx, device_table<T, context<Exec, Instr>> const& t) {
  return observe(ctx, t.data(), {t.name(), array_role::temporary, t.size()});
}

namespace detail {

/// Receives each finished task, on the thread that ran it.
class task_observer {
 public:
  virtual void task_done(int worker) noexcept = 0;

 protected:
  ~task_observer() = default;
};
template <class Guard> class guard_observer final : public task_observer {
 public:
  explicit guard_observer(Guard& guard) noexcept : guard_(guard) {}
  void task_done(int worker) noexcept override { guard_.task_done(worker); }

 private:
  Guard& guard_;
};

/// Scratch under a policy that observes it: the same memory for all tasks, which run one after another.
template <class Scratch> struct observed_scratch {
  Scratch scratch;
  MBIRK_HD Scratch of(index_t) const noexcept { return scratch; }
};

/// The loop over the tasks of a kernel on the host. Not a template over the instrumentation: policies that leave the
/// kernel alone share its code, which mbirk::compiled has compiled once (instances/host.hpp). observer: receives each
/// task; may be null.
template <class Exec, class Kernel, class Scratch>
MBIRK_HOST_NOINLINE void run_tasks(Exec const& exec, index_t tasks, int workers, Kernel const& kernel,
                                   Scratch const& scratch, task_observer* observer) {
  exec.for_each(tasks, workers, [&](index_t task, int worker) {
    if constexpr (requires { scratch.of(worker); }) {
      kernel(task, scratch.of(worker));
    } else {
      Kernel const copy = kernel;  // which no store of the kernel can alias, so that its members stay in registers
      copy(task);
    }
    if (observer) observer->task_done(worker);
  });
}

template <class Exec, class Instr, class Kernel>
void launch_grid(context<Exec, Instr> const& ctx, Kernel const& kernel, index3 grid) {
  if constexpr (Instr::traits.serial) ctx.exec.serial().launch(kernel, grid);
  else ctx.exec.launch(kernel, grid);
}

/// The guard of a launch. @param info  makes the kernel_info.
template <class Exec, class Instr, class Info> auto observe_launch(context<Exec, Instr> const& ctx, Info const& info) {
  if constexpr (Instr::traits.observes_kernels) return ctx.instr.kernel(ctx.exec, info());
  else return no_guard{};
}

/// Describes a launch on a device before it happens: kernel, grid and block.
template <class Kernel, class Block, class Exec> kernel_info block_info(index_t tasks, index3 grid) {
  kernel_info k{
      .name = instrument::kernel_name<Kernel>(), .tasks = tasks, .grid = grid, .threads = Block::bounds.threads};
  if constexpr (requires(Exec const& exec) { exec.template describe<Block>(k); })
    k.describe = [](void const* exec, kernel_info& info) {
      static_cast<std::remove_const_t<Exec> const*>(exec)->template describe<Block>(info);
    };
  return k;
}

template <class Exec, class Instr, class Kernel, class Scratch>
void launch_warps(context<Exec, Instr> const& ctx, index_t tasks, int workers, Kernel const& kernel,
                  Scratch const& scratch) {
  using on_warps = kernel::on_warps<Kernel, Scratch>;
  index3 const grid{static_cast<int>(ceil_div(workers, on_warps::warps)), 1, 1};
  [[maybe_unused]] auto const guard =
      observe_launch(ctx, [&] { return block_info<Kernel, on_warps, Exec>(tasks, grid); });
  if (tasks > 0) launch_grid(ctx, on_warps{kernel, tasks, workers, scratch}, grid);
}

template <class Exec, class Instr, class Kernel, class Scratch>
void launch_tasks(context<Exec, Instr> const& ctx, index_t tasks, int workers, Kernel const& kernel,
                  Scratch const& scratch) {
  if constexpr (block_policy<Exec>) {
    launch_warps(ctx, tasks, workers, kernel, scratch);
  } else if constexpr (Instr::traits.observes_kernels) {
    auto guard = ctx.instr.kernel(
        ctx.exec, kernel_info{.name = instrument::kernel_name<Kernel>(), .tasks = tasks, .workers = workers});
    guard_observer observer(guard);
    run_tasks(ctx.exec, tasks, workers, kernel, scratch, guard.observes_tasks() ? &observer : nullptr);
  } else {
    run_tasks(ctx.exec, tasks, workers, kernel, scratch, nullptr);
  }
}

/// Number of workers that share the tasks of a kernel: as many of its warps as a device holds, if the policy knows.
template <class Kernel, class Scratch, class Exec, class Instr>
int workers_of(context<Exec, Instr> const& ctx, index_t tasks) {
  using on_warps = kernel::on_warps<Kernel, Scratch>;
  if constexpr (Instr::traits.serial) return 1;
  else if constexpr (requires { ctx.exec.template workers_of<on_warps>(tasks); })
    return ctx.exec.template workers_of<on_warps>(tasks);
  else return ctx.exec.workers(tasks);
}

}  // namespace detail

/// Runs kernel(task) for every task, or kernel(task, scratch) when the kernel has a scratch layout. Kernels never
/// throw.
template <class Exec, class Instr, class Kernel>
void launch(context<Exec, Instr> const& ctx, index_t tasks, Kernel const& kernel) {
  using scratch = std::conditional_t<requires { kernel.layout; }, kernel::worker_scratch, kernel::no_scratch>;
  int const workers = detail::workers_of<Kernel, scratch>(ctx, tasks);
  if constexpr (!Instr::traits.runs_kernels) {  // still announces the scratch
    if constexpr (requires { kernel.layout; })
      temporary<std::byte, context<Exec, Instr>>(ctx, "scratch", workers * kernel.layout.bytes(), false);
  } else if constexpr (requires { kernel.layout; }) {
    index_t const each = kernel.layout.bytes();
    temporary<std::byte, context<Exec, Instr>> memory(ctx, "scratch", workers * each, true);
    if constexpr (Instr::traits.observes_scratch) {
      detail::launch_tasks(ctx, tasks, workers, kernel,
                           detail::observed_scratch{ctx.instr.observe_scratch(kernel.layout, memory.data())});
    } else {
      detail::launch_tasks(ctx, tasks, workers, kernel, kernel::worker_scratch{memory.data(), each});
    }
  } else {
    detail::launch_tasks(ctx, tasks, workers, kernel, kernel::no_scratch{});
  }
}

namespace detail {

/// Launches a block kernel on the grid that it requests; none if it has no work.
template <class Context, class Kernel> void launch_blocks(Context const& ctx, Kernel const& kernel) {
  index3 const grid = kernel.grid();
  [[maybe_unused]] auto const guard = observe_launch(
      ctx, [&] { return block_info<Kernel, Kernel, decltype(ctx.exec)>(index_t{grid.x} * grid.y * grid.z, grid); });
  if (grid.x > 0 && grid.y > 0 && grid.z > 0) launch_grid(ctx, kernel, grid);
}

}  // namespace detail

/// The sums of the `Numbers` numbers that every task of a kernel has written, in task order: every sum that decides
/// something goes through here. 0 under a policy without data.
template <int Numbers, class Context>
std::array<double, Numbers> reduce_each(Context const& ctx, temporary<double, Context> const& partial) {
  std::array<double, Numbers> sums{};
  if constexpr (Context::backend::has_data) {
    host_copy const values(ctx, partial);
    for (index_t k = 0; k < Numbers; ++k)
      for (index_t at = k; at < values.size(); at += Numbers) sums[static_cast<std::size_t>(k)] += values[at];
  }
  return sums;
}
template <class Context> double reduce(Context const& ctx, temporary<double, Context> const& partial) {
  return reduce_each<1>(ctx, partial)[0];
}

}  // namespace mbirk
