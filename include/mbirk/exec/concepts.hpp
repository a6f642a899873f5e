// Concepts of execution policies. Independent of every back end.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "mbirk/core/index.hpp"
#include "mbirk/exec/block.hpp"

namespace mbirk {

/// Opt-in tag, so that no type becomes a policy by accident.
struct execution_policy_tag {};

namespace detail {
struct noop_task {
  void operator()(index_t, int) const noexcept {}
};
struct noop_block {
  static constexpr launch_bounds bounds{32, 1};
  template <class B> struct shared {};
  template <class B> MBIRK_HD void operator()(B const&, shared<B>&) const noexcept {}
};
}  // namespace detail

/// Number and bytes of the copies between host and device that a policy has queued.
struct transfer_counts {
  index_t uploads = 0, bytes_up = 0, downloads = 0, bytes_down = 0;
};

/// Policy whose threads share the caller's memory: tasks are functions, called in any order.
template <class T>
concept task_policy = requires(T const& e, index_t n, int workers) {
  e.for_each(n, workers, detail::noop_task{});  // task(i, worker) for 0 <= i < n
};

/// Policy with blocks of threads and separate memory. All work is queued in order; only download and wait block the
/// caller.
template <class T>
concept block_policy = requires(T const& e, void* to, void const* from, std::size_t bytes) {
  e.launch(detail::noop_block{}, index3{1, 1, 1});  // kernel, grid
  e.upload(to, from, bytes);                        // the source may be freed after return
  e.download(to, from, bytes);                      // returns when the bytes have arrived
  e.copy(to, from, bytes);                          // from device to device
  e.clear(to, bytes);
  { e.transfers() } -> std::same_as<transfer_counts>;
  typename T::host_side;                            // policy for the host part of an operation
  { e.host_companion() } -> std::same_as<typename T::host_side>;
};

/// Policy that decides where and when an operation runs. `mark` is a point on the policy's own clock.
template <class T>
concept execution_policy = std::same_as<typename T::policy_category, execution_policy_tag> && std::copyable<T> &&
                           (task_policy<T> != block_policy<T>) &&
                           requires(T const& e, index_t n, void* p, std::size_t bytes, typename T::mark m) {
                             { T::name } -> std::convertible_to<std::string_view>;
                             typename T::backend;                     // vector types of its kernels
                             { e.workers(n) } -> std::same_as<int>;   // number of workers for n tasks
                             { e.timestamp() } -> std::same_as<typename T::mark>;
                             { e.seconds(m, m) } -> std::same_as<double>;
                             e.wait();
                             // 64-byte aligned; throws std::bad_alloc when memory runs out.
                             { e.allocate(bytes) } -> std::same_as<void*>;
                             e.deallocate(p, bytes);
                             // Appended to out-of-memory messages; may be empty.
                             { e.memory_text() } -> std::same_as<std::string>;
                           };

}  // namespace mbirk
