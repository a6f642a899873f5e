// context: where an operation runs and what is noticed, the first argument of every operation; and its temporaries.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "mbirk/core/device_span.hpp"
#include "mbirk/core/view.hpp"
#include "mbirk/exec/allocate.hpp"
#include "mbirk/instrument/concepts.hpp"
#include "mbirk/instrument/kernel_name.hpp"
#include "mbirk/kernel/device/on_warps.hpp"
#include "mbirk/kernel/shared/scratch.hpp"

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
template <class Exec, class Instr> auto host_beside(context<Exec, Instr> const& ctx) {
  if constexpr (block_policy<Exec>) return context<typename Exec::host_side, Instr>{ctx.exec.beside(), ctx.instr};
  else return ctx;
}

namespace detail {

/// The guard of what no policy notes.
struct unnoticed {
  constexpr void did(int) const noexcept {}
};
/// A transfer, noticed where the policy notices such.
template <class Exec, class Instr> auto copying(context<Exec, Instr> const& ctx, char const* what, std::size_t bytes) {
  if constexpr (requires { ctx.instr.copy(ctx.exec, what, index_t{}); }) return ctx.instr.copy(ctx.exec, what, static_cast<index_t>(bytes));
  else return unnoticed{};
}
/// A launch. @param info  makes the kernel_info.
template <class Exec, class Instr, class Info> auto noticing(context<Exec, Instr> const& ctx, Info const& info) {
  if constexpr (requires { ctx.instr.kernel(ctx.exec, kernel_info{}); }) return ctx.instr.kernel(ctx.exec, info());
  else return unnoticed{};
}
template <class Context> void upload(Context const& ctx, void* to, void const* from, std::size_t bytes) {
  [[maybe_unused]] auto const noted = copying(ctx, "MemcpyHtoD", bytes);
  ctx.exec.upload(to, from, bytes);
}

}  // namespace detail

/// Memory of an operation, from the policy's resource, released when it goes out of scope. 64-byte aligned, not initialised.
/// With a dataless policy (the cost model) an array of samples or voxels is only announced, not allocated.
template <class T, class Context> class temporary {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// @throws allocation_error saying what was asked for.
  temporary(Context const& ctx, char const* name, index_t elements, bool needs_data = Context::backend::has_data)
      : ctx_(&ctx), name_(name), elements_(elements) {
    if (needs_data && elements > 0)
      data_ = static_cast<T*>(exec::allocate_for(ctx.exec, bytes(), [&] { return "the temporary '" + std::string(name) + "'"; }));
    ctx.instr.allocated(name_, static_cast<index_t>(bytes()));
  }
  ~temporary() {
    if (data_) {
      if constexpr (requires { ctx_->instr.finished(data_, name_); }) ctx_->instr.finished(data_, name_);
      ctx_->exec.deallocate(data_, bytes());
    }
    ctx_->instr.released(name_, static_cast<index_t>(bytes()));
  }
  temporary(temporary const&) = delete;
  temporary& operator=(temporary const&) = delete;

  T* data() const noexcept { return data_; }
  index_t size() const noexcept { return elements_; }
  char const* name() const noexcept { return name_; }
  std::size_t bytes() const noexcept { return static_cast<std::size_t>(elements_) * sizeof(T); }

 private:
  Context const* ctx_;
  char const* name_;
  index_t elements_;
  T* data_ = nullptr;
};

/// A table that was made on the host and steers kernels, so it has data under every policy: read where it lies, or copied to the device once.
/// Must live until the kernels that read it are queued; so must the vector, which is not copied on the host.
template <class T, class Context> class table {
 public:
  table(Context const& ctx, std::vector<T> const& values, char const* name) : table(ctx, values.data(), static_cast<index_t>(values.size()), name) {}
  table(Context const&, std::vector<T> const&&, char const*) = delete;
  table(Context const& ctx, T const* values, index_t count, char const* name) : data_(values), size_(count), name_(name) {
    if constexpr (on_device<Context>) {
      copy_.emplace(ctx, name, count, true);
      if (count > 0) detail::upload(ctx, copy_->data(), values, copy_->bytes());
      data_ = copy_->data();
    }
  }
  T const* data() const noexcept { return data_; }
  index_t size() const noexcept { return size_; }
  char const* name() const noexcept { return name_; }
  /// Not under watch: what a kernel reads of it is not counted.
  mbirk::list<T> all() const noexcept { return {data_, size_}; }

 private:
  struct nothing {};
  T const* data_;
  index_t size_;
  char const* name_;
  [[no_unique_address]] std::conditional_t<on_device<Context>, std::optional<temporary<T, Context>>, nothing> copy_;
};

/// The elements of device memory on the host: that memory itself where they share it, else a copy, for which it waits.
template <class T, class Context> class fetched {
 public:
  fetched(Context const& ctx, T const* values, index_t count) : data_(values), size_(count) {
    if constexpr (on_device<Context>) {
      copy_.resize(static_cast<std::size_t>(count));
      if (count > 0) {
        [[maybe_unused]] auto const noted = detail::copying(ctx, "MemcpyDtoH", copy_.size() * sizeof(T));
        ctx.exec.download(copy_.data(), values, copy_.size() * sizeof(T));
      }
      data_ = copy_.data();
    }
  }
  fetched(Context const& ctx, temporary<T, Context> const& t) : fetched(ctx, t.data(), t.size()) {}
  fetched(fetched const&) = delete;
  fetched& operator=(fetched const&) = delete;

  T const* data() const noexcept { return data_; }
  T const* begin() const noexcept { return data_; }
  T const* end() const noexcept { return data_ + size_; }
  index_t size() const noexcept { return size_; }
  T const& operator[](index_t k) const noexcept { return data_[k]; }

 private:
  T const* data_;
  index_t size_;
  std::vector<T> copy_;
};
/// Of a dense view, or of one whose gaps come along: indexed as the view is.
template <class T, int Rank, class Context> class fetched_view : public view<T const, Rank> {
 public:
  fetched_view(Context const& ctx, view<T const, Rank> const& v) : fetched_view(v, std::make_unique<fetched<T, Context>>(ctx, v.data(), v.span())) {}

 private:
  fetched_view(view<T const, Rank> const& v, std::unique_ptr<fetched<T, Context>> memory)
      : view<T const, Rank>(memory->data(), v.extents(), v.strides()), memory_(std::move(memory)) {}
  std::unique_ptr<fetched<T, Context>> memory_;
};

/// All bytes of a temporary become 0.
template <class T, class Context> void clear(Context const& ctx, temporary<T, Context> const& t) {
  if (!t.data()) return;
  if constexpr (on_device<Context>) {
    [[maybe_unused]] auto const noted = detail::copying(ctx, "Memset", t.bytes());
    ctx.exec.clear(t.data(), t.bytes());
  } else std::fill_n(t.data(), t.size(), T{});
}
/// Host memory to memory of the policy, dense on both sides.
template <class T, class Context> void put(Context const& ctx, T const* from, index_t count, T* to) {
  if (count == 0) return;
  if constexpr (on_device<Context>) detail::upload(ctx, to, from, static_cast<std::size_t>(count) * sizeof(T));
  else std::copy_n(from, count, to);
}

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

template <class Exec, class Instr, class T>
auto observe(context<Exec, Instr> const& ctx, table<T, context<Exec, Instr>> const& t) {
  return observe(ctx, t.data(), {t.name(), array_role::temporary, t.size()});
}

namespace detail {

/// Scratch of kernels under watch: the same memory for all tasks, which run one after another.
template <class Make> struct watched_scratch {
  Make make;
  MBIRK_HD auto of(index_t) const noexcept { return make(); }
};

template <class Exec, class Instr, class Kernel>
void launch_grid(context<Exec, Instr> const& ctx, Kernel const& kernel, index3 grid) {
  if constexpr (Instr::serial) ctx.exec.serial().launch(kernel, grid, 0);
  else ctx.exec.launch(kernel, grid, 0);
}

/// What is known of a launch before it happens.
template <class Kernel, class Block, class Exec, class Instr> kernel_info block_info(context<Exec, Instr> const& ctx, index_t tasks, index3 grid) {
  kernel_info k{.name = instrument::kernel_name<Kernel>(), .tasks = tasks, .grid = grid, .threads = Block::bounds.threads};
  if constexpr (requires { ctx.exec.template describe<Block>(k); } && !requires { Instr::needs_no_description; }) ctx.exec.template describe<Block>(k);
  return k;
}

template <class Exec, class Instr, class Kernel, class Scratch>
void launch_warps(context<Exec, Instr> const& ctx, index_t tasks, int workers, Kernel const& kernel, Scratch const& scratch) {
  using on_warps = kernel::on_warps<Kernel, Scratch>;
  index3 const grid{static_cast<int>(ceil_div(workers, on_warps::warps)), 1, 1};
  [[maybe_unused]] auto const noted = noticing(ctx, [&] { return block_info<Kernel, on_warps>(ctx, tasks, grid); });
  if (tasks > 0) launch_grid(ctx, on_warps{kernel, tasks, workers, scratch}, grid);
}

template <class Kernel, class Exec, class Instr, class Task>
void launch_tasks(context<Exec, Instr> const& ctx, index_t tasks, int workers, Task const& run) {
  auto noted = noticing(ctx, [&] { return kernel_info{.name = instrument::kernel_name<Kernel>(), .tasks = tasks, .workers = workers}; });
  ctx.exec.for_each(tasks, workers, [&](index_t task, int worker) { run(task, worker), noted.did(worker); });
}

}  // namespace detail

/// Runs kernel(task) for every task, or kernel(task, scratch) when the kernel has a scratch layout. Kernels never throw.
template <class Exec, class Instr, class Kernel>
void launch(context<Exec, Instr> const& ctx, index_t tasks, Kernel const& kernel) {
  int const workers = Instr::serial ? 1 : ctx.exec.workers(tasks);
  if constexpr (requires { Instr::dry; }) {  // nothing runs, but the scratch is announced
    if constexpr (requires { kernel.layout; }) temporary<std::byte, context<Exec, Instr>>(ctx, "scratch", workers * kernel.layout.bytes(), false);
  } else if constexpr (requires { kernel.layout; }) {
    index_t const each = kernel.layout.bytes();
    temporary<std::byte, context<Exec, Instr>> memory(ctx, "scratch", workers * each, true);
    if constexpr (requires { ctx.instr.observe_scratch(kernel.layout, memory.data()); }) {
      auto const tallies = ctx.instr.observe_scratch(kernel.layout, memory.data());
      auto const scratch = [instr = ctx.instr, base = memory.data(), tallies] { return instr.scratch(base, tallies); };
      if constexpr (block_policy<Exec>) detail::launch_warps(ctx, tasks, workers, kernel, detail::watched_scratch{scratch});
      else detail::launch_tasks<Kernel>(ctx, tasks, workers, [&](index_t task, int) { kernel(task, scratch()); });
    } else if constexpr (block_policy<Exec>) {
      detail::launch_warps(ctx, tasks, workers, kernel, kernel::worker_scratch{memory.data(), each});
    } else {
      detail::launch_tasks<Kernel>(ctx, tasks, workers,
                                   [&](index_t task, int worker) { kernel(task, kernel::native_scratch{memory.data() + worker * each}); });
    }
  } else if constexpr (block_policy<Exec>) {
    detail::launch_warps(ctx, tasks, workers, kernel, kernel::no_scratch{});
  } else {
    detail::launch_tasks<Kernel>(ctx, tasks, workers, [&](index_t task, int) { kernel(task); });
  }
}

/// Sum of entries first, first + step, ... of what the tasks of a kernel have written, in task order: every sum that decides something goes
/// through here. 0 under a policy without data.
template <class Values> double ordered_sum(Values const& values, index_t first = 0, index_t step = 1) {
  double sum = 0;
  for (index_t k = first; k < values.size(); k += step) sum += values[k];
  return sum;
}
template <class Context> double reduce(Context const& ctx, temporary<double, Context> const& partial, index_t first = 0, index_t step = 1) {
  if constexpr (Context::backend::has_data) return ordered_sum(fetched(ctx, partial), first, step);
  else return 0;
}

}  // namespace mbirk
