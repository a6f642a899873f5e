// The execution policy comes first, the instrumentation policy second.
// expect: constraint(s not satisfied| failure)
#include "mbirk/context.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"

#if defined(MBIRK_GOOD)
mbirk::context<mbirk::exec::host, mbirk::instrument::none> ctx;
#else
mbirk::context<mbirk::instrument::none, mbirk::exec::host> ctx;
#endif
