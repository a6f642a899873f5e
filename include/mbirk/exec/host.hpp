// The host policy: OpenMP threads (one thread where the program is built without OpenMP) and this machine's vectors.
#pragma once

#include <chrono>
#include <memory_resource>
#include <string>
#include <string_view>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include "mbirk/exec/concepts.hpp"
#include "mbirk/simd/pack.hpp"

namespace mbirk::exec {

/// A value without side effects: making one starts no thread and changes no setting of the process.
class host {
 public:
  using policy_category = execution_policy_tag;
  using backend = simd::native_backend;
  using mark = std::chrono::steady_clock::time_point;
  static constexpr std::string_view name = "host";

  /// @param threads   how many to use at most; 0 for all that OpenMP offers.
  /// @param resource  where temporaries come from; null for the default resource of the standard library.
  explicit host(int threads = 0, std::pmr::memory_resource* resource = nullptr) noexcept : threads_(threads), resource_(resource) {}

  static bool available() noexcept { return true; }

  int threads() const noexcept {
#if defined(_OPENMP)
    return threads_ > 0 ? threads_ : omp_get_max_threads();
#else
    return 1;
#endif
  }
  std::pmr::memory_resource* resource() const noexcept { return resource_ ? resource_ : std::pmr::get_default_resource(); }
  void* allocate(std::size_t bytes) const { return resource()->allocate(bytes, 64); }
  void deallocate(void* p, std::size_t bytes) const noexcept { resource()->deallocate(p, bytes, 64); }
  std::string memory_text() const { return {}; }

  int workers(index_t tasks) const noexcept {
    index_t const most = threads();
    return static_cast<int>(tasks < most ? (tasks < 1 ? 1 : tasks) : most);
  }

  /// task(i, worker) for 0 <= i < tasks. Tasks write disjoint memory, so results do not depend on who runs what.
  template <class Task> void for_each(index_t tasks, [[maybe_unused]] int workers, Task const& task) const {
#if defined(_OPENMP)
    if (workers > 1) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(workers)
      for (index_t i = 0; i < tasks; ++i) task(i, omp_get_thread_num());
      return;
    }
#endif
    for (index_t i = 0; i < tasks; ++i) task(i, 0);
  }

  mark record() const noexcept { return std::chrono::steady_clock::now(); }
  double seconds(mark from, mark to) const noexcept { return std::chrono::duration<double>(to - from).count(); }
  void wait() const noexcept {}

 private:
  int threads_;
  std::pmr::memory_resource* resource_;
};

static_assert(execution_policy<host>);

}  // namespace mbirk::exec
