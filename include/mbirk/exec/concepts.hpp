// What an execution policy must offer. Includes nothing of any back end.
#pragma once

#include <concepts>
#include <memory_resource>
#include <string_view>

#include "mbirk/core/index.hpp"

namespace mbirk {

/// Opt-in: no type becomes a policy by accident.
struct execution_policy_tag {};

namespace detail {
struct noop_task {
  void operator()(index_t, int) const noexcept {}
};
}  // namespace detail

/// Where and when an operation runs. `mark` is a point in the policy's own time.
template <class T>
concept execution_policy = std::same_as<typename T::policy_category, execution_policy_tag> && std::copyable<T> &&
                           requires(T const& e, index_t n, int workers, typename T::mark m) {
                             { T::name } -> std::convertible_to<std::string_view>;
                             typename T::backend;                        // the vocabulary its kernels are written in
                             e.for_each(n, workers, detail::noop_task{});  // task(i, worker) for 0 <= i < n, in any order
                             { e.workers(n) } -> std::same_as<int>;      // how many workers n tasks would get
                             { e.record() } noexcept -> std::same_as<typename T::mark>;
                             { e.seconds(m, m) } -> std::same_as<double>;
                             e.wait();
                             { e.resource() } -> std::same_as<std::pmr::memory_resource*>;
                           };

}  // namespace mbirk
