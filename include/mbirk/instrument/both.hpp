// Two instrumentation policies at once. At most one of them may observe data access.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "mbirk/instrument/concepts.hpp"

namespace mbirk::instrument {

/// Reports everything to `a` and to `b`; guards of `b` end first.
template <instrumentation_policy A, instrumentation_policy B> struct both {
  static_assert(!(A::traits.observes_arrays && B::traits.observes_arrays),
                "both<A, B>: two policies that watch data access cannot be combined");

  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "both";
  static constexpr instrumentation_traits traits{
      .serial = A::traits.serial || B::traits.serial,
      .has_data = A::traits.has_data && B::traits.has_data,
      .runs_kernels = A::traits.runs_kernels && B::traits.runs_kernels,
      .observes_kernels = A::traits.observes_kernels || B::traits.observes_kernels,
      .observes_copies = A::traits.observes_copies || B::traits.observes_copies,
      .observes_arrays = A::traits.observes_arrays || B::traits.observes_arrays,
      .observes_scratch = A::traits.observes_scratch || B::traits.observes_scratch,
      .observes_release = A::traits.observes_release || B::traits.observes_release};
  template <class Native> using backend =
      typename std::conditional_t<A::traits.observes_arrays, A, B>::template backend<Native>;

  [[no_unique_address]] A a{};
  [[no_unique_address]] B b{};

  template <class GuardA, class GuardB> struct guard {
    GuardA a;
    GuardB b;
    bool observes_tasks() const noexcept { return a.observes_tasks() || b.observes_tasks(); }
    void task_done(int worker) noexcept {
      a.task_done(worker);
      b.task_done(worker);
    }
  };
  [[nodiscard]] auto scope(op_info op) const {
    return guard<decltype(a.scope(op)), decltype(b.scope(op))>{a.scope(op), b.scope(op)};
  }
  [[nodiscard]] auto stage(char const* what) const {
    return guard<decltype(a.stage(what)), decltype(b.stage(what))>{a.stage(what), b.stage(what)};
  }
  void allocated(char const* what, index_t bytes) const {
    a.allocated(what, bytes);
    b.allocated(what, bytes);
  }
  void released(char const* what, index_t bytes) const {
    a.released(what, bytes);
    b.released(what, bytes);
  }
  template <class Exec> [[nodiscard]] auto kernel(Exec const& exec, kernel_info const& k) const
      requires(traits.observes_kernels) {
    return guard<decltype(observe_kernel(a, exec, k)), decltype(observe_kernel(b, exec, k))>{
        observe_kernel(a, exec, k), observe_kernel(b, exec, k)};
  }
  template <class Exec> [[nodiscard]] auto copy(Exec const& exec, char const* what, index_t bytes) const
      requires(traits.observes_copies) {
    return guard<decltype(observe_copy(a, exec, what, bytes)), decltype(observe_copy(b, exec, what, bytes))>{
        observe_copy(a, exec, what, bytes), observe_copy(b, exec, what, bytes)};
  }
  void finished(void const* data, char const* what) const requires(traits.observes_release) {
    if constexpr (A::traits.observes_release) a.finished(data, what);
    if constexpr (B::traits.observes_release) b.finished(data, what);
  }
  template <class T> auto observe(T* data, array_info info) const requires(traits.observes_arrays) {
    return observer().observe(data, info);
  }
  template <class Layout> auto observe_scratch(Layout const& layout, std::byte* base) const
      requires(traits.observes_scratch) {
    return observer().observe_scratch(layout, base);
  }

 private:
  template <class Instr, class Exec>
  static auto observe_kernel(Instr const& instr, Exec const& exec, kernel_info const& k) {
    if constexpr (Instr::traits.observes_kernels) return instr.kernel(exec, k);
    else return no_guard{};
  }
  template <class Instr, class Exec>
  static auto observe_copy(Instr const& instr, Exec const& exec, char const* what, index_t bytes) {
    if constexpr (Instr::traits.observes_copies) return instr.copy(exec, what, bytes);
    else return no_guard{};
  }
  auto const& observer() const {
    if constexpr (A::traits.observes_arrays) return a;
    else return b;
  }
};
template <class A, class B> both(A, B) -> both<A, B>;

}  // namespace mbirk::instrument
