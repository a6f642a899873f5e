// What an instrumentation policy must offer. A policy that does not change data access must not change the kernel: it hands the backend through.
#pragma once

#include <concepts>
#include <string_view>

#include "mbirk/core/index.hpp"
#include "mbirk/exec/block.hpp"

namespace mbirk {

/// Opt-in: no type becomes a policy by accident.
struct instrumentation_policy_tag {};

/// What a scope is about. `name` must outlive the program's use of the records: a literal.
struct op_info {
  char const* name;
  index_t items = 0;  ///< work items, e.g. voxel-view pairs; 0 when not meaningful
  index_t bytes = 0, flops = 0;  ///< what the author expects it to move and to compute; 0 when not said
};

/// What an array is to the scope that observes it.
enum class array_role { argument, output, temporary, scratch };

constexpr char const* role_name(array_role r) noexcept {
  switch (r) {
    case array_role::argument: return "argument";
    case array_role::output: return "output";
    case array_role::temporary: return "temporary";
    default: return "scratch";
  }
}

/// An array as counting sees it.
struct array_info {
  char const* name;
  array_role role;
  index_t elements;  ///< of the memory it spans
};

/// What is noticed while an operation runs.
///
/// Optional, found where it is there: kernel(exec, kernel_info) and copy(exec, "MemcpyHtoD", bytes) return guards around a launch and a transfer; the guard of a
/// kernel on the host is told of each finished task by did(worker). finished(data, "name") is told of a temporary before its memory is given back.
///
/// backend<Native>: the kernels' vocabulary; Native itself unless data access is watched.
/// serial: tasks must run in index order on one thread. dataless: arrays have no data (the cost model).
template <class T>
concept instrumentation_policy =
    std::same_as<typename T::policy_category, instrumentation_policy_tag> && std::copyable<T> && requires(T const& t, op_info op, index_t bytes) {
      { T::name } -> std::convertible_to<std::string_view>;
      { T::serial } -> std::convertible_to<bool>;
      { T::dataless } -> std::convertible_to<bool>;
      t.scope(op);      // a guard for the operation
      t.stage("name");  // a guard for one step of it
      t.allocated("name", bytes);
      t.released("name", bytes);
    };

}  // namespace mbirk
