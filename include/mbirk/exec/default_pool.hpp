// Default threads and clock of exec::host, separate so that programs that link mbirk::compiled do not include the
// standard headers of threads and clocks.
#pragma once

#include <cstdint>

#include "mbirk/exec/task_runner.hpp"

#if defined(MBIRK_COMPILED)

namespace mbirk::exec {

task_runner& default_pool();
namespace detail {
std::int64_t steady_nanoseconds() noexcept;
}

}  // namespace mbirk::exec

#else

#include "mbirk/exec/thread_pool.hpp"

namespace mbirk::exec {

/// The pool of exec::host where no other runner is given.
inline task_runner& default_pool() { return detail::process_pool(); }
namespace detail {
inline std::int64_t steady_nanoseconds() noexcept { return read_steady_clock(); }
}  // namespace detail

}  // namespace mbirk::exec

#endif
