// Allocation from a policy, with an error message that names the purpose of the memory.
#pragma once

#include <cstddef>
#include <new>
#include <string>

#include "mbirk/core/error.hpp"
#include "mbirk/exec/concepts.hpp"

namespace mbirk::exec {

/// Returns exec.allocate(bytes).
///
/// @param what  callable that names the purpose: "an array".
/// @throws allocation_error  "out of memory: 40 bytes for an array", followed by the policy's memory_text()
template <execution_policy Exec, class What> void* allocate_for(Exec const& exec, std::size_t bytes, What const& what) {
  try {
    return exec.allocate(bytes);
  } catch (std::bad_alloc const&) {
    throw allocation_error("out of memory: " + std::to_string(bytes) + " bytes for " + what() + exec.memory_text(),
                           source_location::current());
  }
}

}  // namespace mbirk::exec
