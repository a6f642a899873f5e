// The host policy: a thread pool, or another task runner, with this processor's vector instructions.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <string>
#include <string_view>

#include "mbirk/exec/concepts.hpp"
#include "mbirk/exec/default_pool.hpp"
#include "mbirk/simd/pack.hpp"

namespace mbirk::exec {
inline namespace MBIRK_HOST_VECTORS {

/// Creating a host policy has no side effects: it starts no thread and changes no setting of the process.
class host {
 public:
  using policy_category = execution_policy_tag;
  using backend = simd::native_backend;
  using mark = std::int64_t;  // nanoseconds of the steady clock: <chrono> takes longer to read than this header
  static constexpr std::string_view name = "host";

  /// @param threads   maximum number of threads; 0 for as many as the process can run at the same time
  ///                  (available_processors()).
  /// @param resource  source of temporaries; null for the default resource of the standard library.
  explicit host(int threads = 0, std::pmr::memory_resource* resource = nullptr) noexcept
      : threads_(threads), resource_(resource) {}
  /// @param runner  runs the loops instead of default_pool(); must outlive the policy and its copies.
  explicit host(task_runner& runner, int threads = 0, std::pmr::memory_resource* resource = nullptr) noexcept
      : threads_(threads), resource_(resource), runner_(&runner) {}

  static bool available() noexcept { return true; }

  task_runner& runner() const { return runner_ ? *runner_ : default_pool(); }
  int threads() const { return threads_ > 0 ? threads_ : runner().threads(); }
  std::pmr::memory_resource* resource() const noexcept {
    return resource_ ? resource_ : std::pmr::get_default_resource();
  }
  void* allocate(std::size_t bytes) const { return resource()->allocate(bytes, 64); }
  void deallocate(void* p, std::size_t bytes) const noexcept { resource()->deallocate(p, bytes, 64); }
  std::string memory_text() const { return {}; }

  int workers(index_t tasks) const {
    index_t const most = threads();
    return static_cast<int>(tasks < most ? (tasks < 1 ? 1 : tasks) : most);
  }

  /// Calls task(i, worker) for 0 <= i < tasks. Tasks write disjoint memory, so results do not depend on which thread
  /// runs which task.
  template <class Task> void for_each(index_t tasks, int workers, Task const& task) const {
    run(tasks, workers, task_ref(task));
  }

  mark timestamp() const noexcept { return detail::steady_nanoseconds(); }
  double seconds(mark from, mark to) const noexcept { return 1e-9 * static_cast<double>(to - from); }
  void wait() const noexcept {}

 private:
  // Not a template, so that a kernel is compiled once for threads and for none.
  MBIRK_HOST_NOINLINE void run(index_t tasks, int workers, task_ref task) const {
    if (workers > 1) {
      runner().run(tasks, workers, task);
    } else {
      for (index_t i = 0; i < tasks; ++i) task(i, 0);
    }
  }

  int threads_;
  std::pmr::memory_resource* resource_;
  task_runner* runner_ = nullptr;
};

static_assert(execution_policy<host>);

}  // namespace MBIRK_HOST_VECTORS
}  // namespace mbirk::exec
