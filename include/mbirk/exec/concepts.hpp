// What an execution policy must offer. Includes nothing of any back end.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "mbirk/core/index.hpp"
#include "mbirk/exec/block.hpp"

namespace mbirk {

/// Opt-in: no type becomes a policy by accident.
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

/// Copies between host and device that a policy has queued, and their bytes.
struct transfer_counts {
  index_t uploads = 0, bytes_up = 0, downloads = 0, bytes_down = 0;
};

/// A policy whose threads share the memory of the caller: tasks are functions, called in any order.
template <class T>
concept task_policy = requires(T const& e, index_t n, int workers) {
  e.for_each(n, workers, detail::noop_task{});  // task(i, worker) for 0 <= i < n
};

/// A policy of blocks of threads with memory of their own. Everything is queued in order; only download and wait wait.
template <class T>
concept block_policy = requires(T const& e, void* to, void const* from, std::size_t bytes) {
  e.launch(detail::noop_block{}, index3{1, 1, 1}, 0);  // kernel, blocks, bytes of dynamic shared memory
  e.upload(to, from, bytes);                           // the source may be freed when it returns
  e.download(to, from, bytes);                         // returns when the bytes are there
  e.copy(to, from, bytes);                             // inside the device
  e.clear(to, bytes);
  { e.transfers() } -> std::same_as<transfer_counts>;
  typename T::host_side;                               // the policy of what is decided on the host
  { e.host_companion() } -> std::same_as<typename T::host_side>;
};

/// Where and when an operation runs. `mark` is a point in the policy's own time.
template <class T>
concept execution_policy = std::same_as<typename T::policy_category, execution_policy_tag> && std::copyable<T> &&
                           (task_policy<T> != block_policy<T>) &&
                           requires(T const& e, index_t n, void* p, std::size_t bytes, typename T::mark m) {
                             { T::name } -> std::convertible_to<std::string_view>;
                             typename T::backend;                     // the vocabulary its kernels are written in
                             { e.workers(n) } -> std::same_as<int>;   // how many workers n tasks would get
                             { e.timestamp() } -> std::same_as<typename T::mark>;
                             { e.seconds(m, m) } -> std::same_as<double>;
                             e.wait();
                             { e.allocate(bytes) } -> std::same_as<void*>;  // 64-byte aligned; std::bad_alloc when there is no more
                             e.deallocate(p, bytes);
                             { e.memory_text() } -> std::same_as<std::string>;  // what a message about lack of memory adds; may be empty
                           };

}  // namespace mbirk
