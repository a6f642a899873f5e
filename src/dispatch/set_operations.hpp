// The operations of one instruction set, as pointers to functions: how the library calls the kernels it has chosen.
#pragma once

#include "mbirk/instances/host.hpp"
#if defined(MBIRK_SETS_HAVE_ANY)
#include "mbirk/instances/any.hpp"
#endif

namespace mbirk::instances {

#define MBIRK_OPERATION_POINTER(C, G, member, function, parameters, arguments, ...) __VA_ARGS__(*member) parameters;

/// Operations on a scan in a context C, and those of geometries that have a direct reconstruction.
template <class C, class G> struct operations_of {
  MBIRK_PROJECTORS_OF(MBIRK_OPERATION_POINTER, C, G)
  MBIRK_RECON_OF(MBIRK_OPERATION_POINTER, C, G)
  MBIRK_WEIGHTS_OF(MBIRK_OPERATION_POINTER, C, G)
};
template <class C, has_direct_recon G> struct operations_of<C, G> {
  MBIRK_PROJECTORS_OF(MBIRK_OPERATION_POINTER, C, G)
  MBIRK_FILTER_OF(MBIRK_OPERATION_POINTER, C, G)
  MBIRK_DIRECT_RECON_OF(MBIRK_OPERATION_POINTER, C, G)
  MBIRK_RECON_OF(MBIRK_OPERATION_POINTER, C, G)
  MBIRK_WEIGHTS_OF(MBIRK_OPERATION_POINTER, C, G)
};
/// Operations without a scan.
template <class C> struct operations_of<C, void> {
  MBIRK_WEIGHTS(MBIRK_OPERATION_POINTER, C)
  MBIRK_IMAGE_OPERATIONS(MBIRK_OPERATION_POINTER, C)
};

#undef MBIRK_OPERATION_POINTER

template <class C, class Geometries> struct context_operations;
template <class C, class... G>
struct context_operations<C, geometry_types<G...>> : operations_of<C, G>..., operations_of<C, void> {};

struct set_operations : context_operations<none_context, geometries>
#if defined(MBIRK_SETS_HAVE_ANY)
    , context_operations<any_context, geometries>
#endif
{};

}  // namespace mbirk::instances

// The operations of each set, the only symbols that its objects export. C names are the same for every compiler.
extern "C" {
#define MBIRK_SET(identifier, name) extern mbirk::instances::set_operations const mbirk_operations_##identifier;
#include "instruction_sets.inc"
#undef MBIRK_SET
}
