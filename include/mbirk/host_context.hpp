// The context of most programs: the host, without instrumentation.
#pragma once

#include "mbirk/context.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"

namespace mbirk {

/// Runs on the default pool of threads, without instrumentation: `host_context const ctx;`. With 4 threads:
/// `host_context const ctx{exec::host{4}};`.
using host_context = context<exec::host, instrument::none>;

}  // namespace mbirk
