// Policy that observes nothing and costs nothing: empty guards, the native backend, plain pointers.
#pragma once

#include "mbirk/instrument/concepts.hpp"

namespace mbirk::instrument {

struct none {
  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "none";
  static constexpr instrumentation_traits traits{};
  template <class Native> using backend = Native;

  struct guard {};
  [[nodiscard]] constexpr guard scope(op_info) const noexcept { return {}; }
  [[nodiscard]] constexpr guard stage(char const*) const noexcept { return {}; }
  constexpr void allocated(char const*, index_t) const noexcept {}
  constexpr void released(char const*, index_t) const noexcept {}
};

static_assert(instrumentation_policy<none>);

}  // namespace mbirk::instrument
