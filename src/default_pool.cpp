// The default threads and the clock of exec::host, compiled.
#include "mbirk/exec/default_pool.hpp"

#include "mbirk/exec/thread_pool.hpp"

namespace mbirk::exec {

task_runner& default_pool() { return detail::process_pool(); }
std::int64_t detail::steady_nanoseconds() noexcept { return read_steady_clock(); }

}  // namespace mbirk::exec
