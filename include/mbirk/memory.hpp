// Memory of operations: temporaries, tables that steer kernels, and copies on the host.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "mbirk/context.hpp"
#include "mbirk/core/device_span.hpp"
#include "mbirk/core/view.hpp"
#include "mbirk/exec/allocate.hpp"

namespace mbirk {

namespace detail {

/// Guard of a transfer; empty unless the instrumentation observes copies.
template <class Exec, class Instr>
auto observe_copy(context<Exec, Instr> const& ctx, char const* what, std::size_t bytes) {
  if constexpr (Instr::traits.observes_copies) return ctx.instr.copy(ctx.exec, what, static_cast<index_t>(bytes));
  else return no_guard{};
}
template <class Context> void upload(Context const& ctx, void* to, void const* from, std::size_t bytes) {
  [[maybe_unused]] auto const guard = observe_copy(ctx, "MemcpyHtoD", bytes);
  ctx.exec.upload(to, from, bytes);
}

}  // namespace detail

/// Temporary memory of an operation, from the policy's resource, released at the end of its scope. 64-byte aligned, not
/// initialised. Under a policy without data (the cost model), an array of samples or voxels is only announced, not
/// allocated.
template <class T, class Context> class temporary {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// @throws allocation_error with the requested size.
  temporary(Context const& ctx, char const* name, index_t elements, bool needs_data = Context::backend::has_data)
      : ctx_(&ctx), name_(name), elements_(elements) {
    if (needs_data && elements > 0)
      data_ = static_cast<T*>(
          exec::allocate_for(ctx.exec, bytes(), [&] { return "the temporary '" + std::string(name) + "'"; }));
    try {
      ctx.instr.allocated(name_, static_cast<index_t>(bytes()));
    } catch (...) {
      if (data_) ctx.exec.deallocate(data_, this->bytes());
      throw;
    }
  }
  ~temporary() {
    if (data_) {
      if constexpr (decltype(ctx_->instr)::traits.observes_release) ctx_->instr.finished(data_, name_);
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

/// A table that is computed on the host and steers kernels, so it has data under every policy: read in place on the
/// host, or copied to the device once. It must live until the kernels that read it are queued; so must the vector,
/// which is not copied on the host.
template <class T, class Context> class device_table {
 public:
  device_table(Context const& ctx, std::vector<T> const& values, char const* name)
      : device_table(ctx, values.data(), static_cast<index_t>(values.size()), name) {}
  device_table(Context const&, std::vector<T> const&&, char const*) = delete;
  device_table(Context const& ctx, T const* values, index_t count, char const* name)
      : data_(values), size_(count), name_(name) {
    if constexpr (on_device<Context>) {
      copy_.emplace(ctx, name, count, true);
      if (count > 0) detail::upload(ctx, copy_->data(), values, copy_->bytes());
      data_ = copy_->data();
    }
  }
  T const* data() const noexcept { return data_; }
  index_t size() const noexcept { return size_; }
  char const* name() const noexcept { return name_; }
  /// Unobserved access: kernels' reads through it are not counted.
  device_span<T> all() const noexcept { return {data_, size_}; }

 private:
  struct nothing {};
  T const* data_;
  index_t size_;
  char const* name_;
  [[no_unique_address]] std::conditional_t<on_device<Context>, std::optional<temporary<T, Context>>, nothing> copy_;
};

/// Host copy of the elements of device memory; waits for the download. On the host it refers to the memory itself.
template <class T, class Context> class host_copy {
 public:
  host_copy(Context const& ctx, T const* values, index_t count) : data_(values), size_(count) {
    if constexpr (on_device<Context>) {
      copy_.resize(static_cast<std::size_t>(count));
      if (count > 0) {
        [[maybe_unused]] auto const noted = detail::observe_copy(ctx, "MemcpyDtoH", copy_.size() * sizeof(T));
        ctx.exec.download(copy_.data(), values, copy_.size() * sizeof(T));
      }
      data_ = copy_.data();
    }
  }
  host_copy(Context const& ctx, temporary<T, Context> const& t) : host_copy(ctx, t.data(), t.size()) {}
  host_copy(host_copy const&) = delete;
  host_copy& operator=(host_copy const&) = delete;

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
/// Host copy of a view, including its gaps; indexed like the view.
template <class T, int Rank, class Context> class host_view : public view<T const, Rank> {
 public:
  host_view(Context const& ctx, view<T const, Rank> const& v)
      : host_view(v, std::make_unique<host_copy<T, Context>>(ctx, v.data(), v.span())) {}

 private:
  host_view(view<T const, Rank> const& v, std::unique_ptr<host_copy<T, Context>> memory)
      : view<T const, Rank>(memory->data(), v.extents(), v.strides()), memory_(std::move(memory)) {}
  std::unique_ptr<host_copy<T, Context>> memory_;
};

/// Sets all bytes of a temporary to 0.
template <class T, class Context> void clear(Context const& ctx, temporary<T, Context> const& t) {
  if (!t.data()) return;
  if constexpr (on_device<Context>) {
    [[maybe_unused]] auto const noted = detail::observe_copy(ctx, "Memset", t.bytes());
    ctx.exec.clear(t.data(), t.bytes());
  } else std::fill_n(t.data(), t.size(), T{});
}
/// Copies `count` elements from host memory to memory of the policy; both sides are dense.
template <class T, class Context> void put(Context const& ctx, T const* from, index_t count, T* to) {
  if (count == 0) return;
  if constexpr (on_device<Context>) detail::upload(ctx, to, from, static_cast<std::size_t>(count) * sizeof(T));
  else std::copy_n(from, count, to);
}
/// Copies `count` elements from memory of the policy to host memory, and waits for it; both sides are dense.
template <class T, class Context> void get(Context const& ctx, T const* from, index_t count, T* to) {
  if (count == 0) return;
  if constexpr (on_device<Context>) {
    auto const bytes = static_cast<std::size_t>(count) * sizeof(T);
    [[maybe_unused]] auto const noted = detail::observe_copy(ctx, "MemcpyDtoH", bytes);
    ctx.exec.download(to, from, bytes);
  } else std::copy_n(from, count, to);
}

}  // namespace mbirk
