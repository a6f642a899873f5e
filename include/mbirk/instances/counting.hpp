// Kernels and operations under the counting policies that mbirk::compiled holds: include it where operations are
// counted. They are not chosen at run time, so that counts do not depend on the processor.
#pragma once

#include "mbirk/instances/host.hpp"
#include "mbirk/instrument/counting.hpp"

namespace mbirk::instances {

using counting_context = context<exec::host, instrument::counting<instrument::level::all>>;
using counted_backend = counting_context::backend;
using cost_model_context = context<exec::host, instrument::cost_model<>>;
using cost_model_backend = cost_model_context::backend;
using counted_scratch = detail::observed_scratch<instrument::counted_scratch>;

}  // namespace mbirk::instances

namespace mbirk {

MBIRK_ALL_KERNELS(MBIRK_DECLARE_KERNEL, instances::counted_backend, instances::counted_scratch)
MBIRK_ALL_KERNELS(MBIRK_DECLARE_KERNEL, instances::cost_model_backend, instances::counted_scratch)
MBIRK_ALL_HOST_OPERATIONS(MBIRK_EXTERN_OPERATION, instances::counting_context)
MBIRK_ALL_HOST_OPERATIONS(MBIRK_EXTERN_OPERATION, instances::cost_model_context)

}  // namespace mbirk
