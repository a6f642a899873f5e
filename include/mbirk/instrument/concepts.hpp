// The concept of an instrumentation policy. A policy that does not observe data access must not change the kernel: its
// backend is the native one.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include "mbirk/core/index.hpp"
#include "mbirk/exec/block.hpp"

namespace mbirk {

/// Opt-in: no type becomes a policy by accident.
struct instrumentation_policy_tag {};

/// Description of a scope. `name` must be a string literal, because records keep the pointer.
struct op_info {
  char const* name;
  index_t items = 0;             ///< work items, e.g. voxel-view pairs; 0 when not meaningful
  index_t bytes = 0, flops = 0;  ///< expected by the author; 0 when not given
};

/// Role of an array in the scope that observes it.
enum class array_role { argument, output, temporary, scratch };

constexpr char const* role_name(array_role r) noexcept {
  switch (r) {
    case array_role::argument: return "argument";
    case array_role::output: return "output";
    case array_role::temporary: return "temporary";
    default: return "scratch";
  }
}

/// Description of an array for counting.
struct array_info {
  char const* name;
  array_role role;
  index_t elements;  ///< of the memory it spans
};

/// Guard of anything that a policy does not observe, and a base of guards that do not follow the tasks of a kernel.
struct no_guard {
  constexpr bool observes_tasks() const noexcept { return false; }
  constexpr void task_done(int /*worker*/) const noexcept {}
};

/// Capabilities of a policy. Every optional member of a policy is announced here, so that a misspelt hook is a
/// compile-time error instead of a hook that is never called.
struct instrumentation_traits {
  bool serial = false;            ///< tasks must run in index order on one thread
  bool has_data = true;           ///< false: arrays of samples and voxels have no data (cost model, sizing)
  bool runs_kernels = true;       ///< false: launches only announce their scratch (sizing)
  bool observes_kernels = false;  ///< kernel(exec, kernel_info) returns a guard around a launch; on the host, if
                                  ///< observes_tasks(), task_done(worker) follows each task
  bool observes_copies = false;   ///< copy(exec, "MemcpyHtoD", bytes) returns a guard around a transfer
  bool observes_arrays = false;   ///< observe(pointer, array_info) returns what kernels read and write through
  bool observes_scratch = false;  ///< observe_scratch(layout, base) returns what each task gets as its scratch
  bool observes_release = false;  ///< finished(data, "name") is called before the memory of a temporary is given back
};

namespace detail {

template <class T>
concept has_array_hook = requires(T const& t, float* p, array_info a) {
  t.observe(p, a);
};
template <class T>
concept has_release_hook = requires(T const& t, void const* p) {
  t.finished(p, "name");
};

}  // namespace detail

/// An instrumentation policy observes operations while they run. Policies are values; copies report to the same place.
///
/// backend<Native> is the vocabulary of the kernels: Native itself unless data access is observed.
template <class T>
concept instrumentation_policy = std::same_as<typename T::policy_category, instrumentation_policy_tag> &&
    std::copyable<T> && std::same_as<std::remove_const_t<decltype(T::traits)>, instrumentation_traits> &&
    (T::traits.observes_arrays ==
     detail::has_array_hook<T>)&&(T::traits.observes_release ==
                                  detail::has_release_hook<T>)&&requires(T const& t, op_info op, index_t bytes) {
  { T::name } -> std::convertible_to<std::string_view>;
  t.scope(op);      // a guard for the operation
  t.stage("name");  // a guard for one step of it
  t.allocated("name", bytes);
  t.released("name", bytes);
};

}  // namespace mbirk
