// The instruction sets of mbirk::compiled, and the choice among them.
#include "mbirk/exec/instruction_set.hpp"

namespace mbirk {
namespace {

constexpr std::string_view sets[]{
#if defined(MBIRK_DISPATCHED)
#define MBIRK_SET(identifier, name) name,
#include "instruction_sets.inc"
#elif defined(MBIRK_FOR_THIS_MACHINE)
    "native",
#else
    detail::compiled_set,
#endif
};

bool processor_has([[maybe_unused]] std::string_view set) {
#if defined(__x86_64__)
  if (set == "x86-64-v3") return __builtin_cpu_supports("x86-64-v3") != 0;
  if (set == "x86-64-v4") return __builtin_cpu_supports("x86-64-v4") != 0;
#endif
  return true;  // the baseline of the architecture, or the set of the machine that compiled it
}

}  // namespace

inline namespace MBIRK_HOST_VECTORS {

std::span<std::string_view const> instruction_sets() { return sets; }
std::string_view instruction_set() {
  static std::string_view const chosen = detail::choose_instruction_set(sets, processor_has);
  return chosen;
}

}  // namespace MBIRK_HOST_VECTORS
}  // namespace mbirk
