// Memory of a policy, or one error that says what it was for.
#pragma once

#include <cstddef>
#include <new>
#include <string>

#include "mbirk/core/error.hpp"
#include "mbirk/exec/concepts.hpp"

namespace mbirk::exec {

/// exec.allocate(bytes). @param what  a callable: "an array". @throws allocation_error "out of memory: 40 bytes for an array", and what the policy adds.
template <execution_policy Exec, class What> void* allocate_for(Exec const& exec, std::size_t bytes, What const& what) {
  try {
    return exec.allocate(bytes);
  } catch (std::bad_alloc const&) {
    throw allocation_error("out of memory: " + std::to_string(bytes) + " bytes for " + what() + exec.memory_text(), source_location::current());
  }
}

}  // namespace mbirk::exec
