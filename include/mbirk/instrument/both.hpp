// Two instrumentation policies at once. At most one of them may watch data access.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>

#include "mbirk/instrument/concepts.hpp"

namespace mbirk::instrument {

namespace detail {

struct no_guard {
  constexpr void did(int) const noexcept {}
};
template <class Instr, class Exec> auto kernel_guard(Instr const& instr, Exec const& exec, kernel_info const& k) {
  if constexpr (requires { instr.kernel(exec, k); }) return instr.kernel(exec, k);
  else return no_guard{};
}
template <class Instr, class Exec> auto copy_guard(Instr const& instr, Exec const& exec, char const* what, index_t bytes) {
  if constexpr (requires { instr.copy(exec, what, bytes); }) return instr.copy(exec, what, bytes);
  else return no_guard{};
}

}  // namespace detail

template <instrumentation_policy A, instrumentation_policy B> struct both {
  static constexpr bool a_watches = requires(A const& a, float* p, array_info i) { a.observe(p, i); };
  static constexpr bool b_watches = requires(B const& b, float* p, array_info i) { b.observe(p, i); };
  static_assert(!(a_watches && b_watches), "both<A, B>: two policies that watch data access cannot be combined");

  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "both";
  static constexpr bool serial = A::serial || B::serial, dataless = A::dataless || B::dataless;
  template <class Native> using backend = typename std::conditional_t<a_watches, A, B>::template backend<Native>;

  [[no_unique_address]] A a{};
  [[no_unique_address]] B b{};

  template <class GuardA, class GuardB> struct guard { GuardA a; GuardB b; };
  template <class GuardA, class GuardB> struct launch_guard {
    GuardA a;
    GuardB b;
    void did(int worker) noexcept { a.did(worker), b.did(worker); }
  };
  [[nodiscard]] auto scope(op_info op) const { return guard<decltype(a.scope(op)), decltype(b.scope(op))>{a.scope(op), b.scope(op)}; }
  [[nodiscard]] auto stage(char const* what) const { return guard<decltype(a.stage(what)), decltype(b.stage(what))>{a.stage(what), b.stage(what)}; }
  void allocated(char const* what, index_t bytes) const { a.allocated(what, bytes), b.allocated(what, bytes); }
  void released(char const* what, index_t bytes) const { a.released(what, bytes), b.released(what, bytes); }
  template <class Exec> [[nodiscard]] auto kernel(Exec const& exec, kernel_info const& k) const {
    return launch_guard<decltype(detail::kernel_guard(a, exec, k)), decltype(detail::kernel_guard(b, exec, k))>{detail::kernel_guard(a, exec, k),
                                                                                                             detail::kernel_guard(b, exec, k)};
  }
  template <class Exec> [[nodiscard]] auto copy(Exec const& exec, char const* what, index_t bytes) const {
    return guard<decltype(detail::copy_guard(a, exec, what, bytes)), decltype(detail::copy_guard(b, exec, what, bytes))>{
        detail::copy_guard(a, exec, what, bytes), detail::copy_guard(b, exec, what, bytes)};
  }
  void finished(void const* data, char const* what) const
    requires(a_watches || b_watches)
  {
    watcher().finished(data, what);
  }
  template <class T> auto observe(T* data, array_info info) const
    requires(a_watches || b_watches)
  {
    return watcher().observe(data, info);
  }
  template <class Layout> auto observe_scratch(Layout const& layout, std::byte const* base) const
    requires(a_watches || b_watches)
  {
    return watcher().observe_scratch(layout, base);
  }
  template <class Tallies> auto scratch(std::byte* base, Tallies tallies) const
    requires(a_watches || b_watches)
  {
    return watcher().scratch(base, tallies);
  }

 private:
  auto const& watcher() const {
    if constexpr (a_watches) return a;
    else return b;
  }
};
template <class A, class B> both(A, B) -> both<A, B>;

}  // namespace mbirk::instrument
