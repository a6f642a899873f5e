// The operations of the instruction set that this file is compiled for, by name: MBIRK_INSTRUCTION_SET.
#include "set_operations.hpp"

namespace mbirk::instances {
namespace {

#define MBIRK_OPERATION_ADDRESS(C, G, member, function, parameters, arguments, ...) .member = &function,

template <class C, class G>
constexpr operations_of<C, G> with_scan{
    MBIRK_PROJECTORS_OF(MBIRK_OPERATION_ADDRESS, C, G)
    MBIRK_RECON_OF(MBIRK_OPERATION_ADDRESS, C, G)
    MBIRK_WEIGHTS_OF(MBIRK_OPERATION_ADDRESS, C, G)};
template <class C, has_direct_recon G>
constexpr operations_of<C, G> with_scan<C, G>{
    MBIRK_PROJECTORS_OF(MBIRK_OPERATION_ADDRESS, C, G)
    MBIRK_FILTER_OF(MBIRK_OPERATION_ADDRESS, C, G)
    MBIRK_DIRECT_RECON_OF(MBIRK_OPERATION_ADDRESS, C, G)
    MBIRK_RECON_OF(MBIRK_OPERATION_ADDRESS, C, G)
    MBIRK_WEIGHTS_OF(MBIRK_OPERATION_ADDRESS, C, G)};
template <class C>
constexpr operations_of<C, void> without_scan{
    MBIRK_WEIGHTS(MBIRK_OPERATION_ADDRESS, C)
    MBIRK_IMAGE_OPERATIONS(MBIRK_OPERATION_ADDRESS, C)};

template <class C, class... G>
constexpr context_operations<C, geometry_types<G...>> operations_in(geometry_types<G...>) {
  return {with_scan<C, G>..., without_scan<C>};
}

}  // namespace
}  // namespace mbirk::instances

#define MBIRK_JOINED(a, b) a##b
#define MBIRK_OPERATIONS_NAME(identifier) MBIRK_JOINED(mbirk_operations_, identifier)

constinit mbirk::instances::set_operations const MBIRK_OPERATIONS_NAME(MBIRK_INSTRUCTION_SET){
    mbirk::instances::operations_in<mbirk::instances::none_context>(mbirk::geometries{}),
#if defined(MBIRK_SETS_HAVE_ANY)
    mbirk::instances::operations_in<mbirk::instances::any_context>(mbirk::geometries{}),
#endif
};
