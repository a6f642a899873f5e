// The operations of mbirk::compiled where it holds several instruction sets: each calls that of the chosen set.
#include "mbirk/exec/instruction_set.hpp"
#include "set_operations.hpp"

namespace mbirk {
namespace {

instances::set_operations const& find_operations() {
  auto const set = instruction_set();
#define MBIRK_SET(identifier, name) \
  if (set == name) return mbirk_operations_##identifier;
#include "instruction_sets.inc"
#undef MBIRK_SET
  throw parameter_error("mbirk has no kernels for " + std::string(set), source_location::current());
}

template <class C, class G> instances::operations_of<C, G> const& chosen() {
  static instances::set_operations const& operations = find_operations();
  return operations;
}

}  // namespace

#define MBIRK_FORWARD_OPERATION(C, G, member, function, parameters, arguments, ...) \
  template <> __VA_ARGS__ function parameters { return chosen<C, G>().member arguments; }

MBIRK_ALL_OPERATIONS(MBIRK_FORWARD_OPERATION, instances::none_context)
#if defined(MBIRK_SETS_HAVE_ANY)
MBIRK_ALL_OPERATIONS(MBIRK_FORWARD_OPERATION, instances::any_context)
#endif

}  // namespace mbirk
