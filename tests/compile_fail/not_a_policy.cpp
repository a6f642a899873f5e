// A type with every member of an instrumentation policy that does not declare itself to be one.
// expect: constraint(s not satisfied| failure)
#include "mbirk/context.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"

struct almost {
#if defined(MBIRK_GOOD)
  using policy_category = mbirk::instrumentation_policy_tag;
#else
  struct policy_category {};
#endif
  static constexpr char const* name = "almost";
  static constexpr mbirk::instrumentation_traits traits{};
  template <class Native> using backend = Native;
  int scope(mbirk::op_info) const { return 0; }
  int stage(char const*) const { return 0; }
  void allocated(char const*, mbirk::index_t) const {}
  void released(char const*, mbirk::index_t) const {}
};

mbirk::context<mbirk::exec::host, almost> ctx;
