// Operations under instrument::any that mbirk::compiled holds. Their kernels are those of instrument::none.
#pragma once

#include "mbirk/instances/host.hpp"
#include "mbirk/instrument/any.hpp"

namespace mbirk::instances {

using any_context = context<exec::host, instrument::any>;

}  // namespace mbirk::instances

namespace mbirk {

MBIRK_ALL_OPERATIONS(MBIRK_DECLARE_OPERATION, instances::any_context)
MBIRK_PARTITION_OPERATIONS(MBIRK_EXTERN_OPERATION, instances::any_context)

}  // namespace mbirk
