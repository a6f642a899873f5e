// Memory resource that caches freed blocks, so that repeated operations allocate only once. Owned by the caller.
#pragma once

#include <cstddef>
#include <map>
#include <memory_resource>
#include <mutex>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace mbirk::exec {

/// Freed blocks go to a free list and serve later requests of at most their size and at least half of it; all memory is
/// freed by the destructor or by release(). Faulting in fresh pages costs more than many operations; with `exec::host
/// ex{0, &workspace}` this happens once. On Linux, large blocks request huge pages, because projectors read their
/// temporaries with large strides and small pages cost a TLB miss per access. Thread-safe.
class workspace final : public std::pmr::memory_resource {
 public:
  explicit workspace(std::pmr::memory_resource* upstream = std::pmr::new_delete_resource()) : upstream_(upstream) {}
  ~workspace() override { release(); }
  workspace(workspace const&) = delete;
  workspace& operator=(workspace const&) = delete;

  /// Frees all blocks that are not in use.
  void release() {
    std::lock_guard const lock(mutex_);
    for (auto const& [size, block] : free_) upstream_->deallocate(block, size, alignment_of(size));
    free_.clear();
  }
  /// Bytes held, in use or not.
  std::size_t bytes() const {
    std::lock_guard const lock(mutex_);
    std::size_t n = 0;
    for (auto const& [size, block] : free_) n += size;
    for (auto const& [block, size] : used_) n += size;
    return n;
  }

 private:
  static constexpr std::size_t alignment = 64, large_page = std::size_t{1} << 21;
  static constexpr std::size_t alignment_of(std::size_t bytes) {
    return bytes >= 2 * large_page ? large_page : alignment;
  }

  void* do_allocate(std::size_t bytes, std::size_t align) override {
    if (align > alignment) throw std::bad_alloc();
    std::lock_guard const lock(mutex_);
    auto const found = free_.lower_bound(bytes);
    if (found != free_.end() && found->first / 2 <= bytes) {
      auto const [size, block] = *found;
      used_.emplace(block, size);
      free_.erase(found);
      return block;
    }
    void* const block = upstream_->allocate(bytes, alignment_of(bytes));
#if defined(__linux__)
    // Only a hint: a refusal is harmless.
    if (alignment_of(bytes) == large_page) (void)madvise(block, bytes, MADV_HUGEPAGE);
#endif
    used_.emplace(block, bytes);
    return block;
  }
  void do_deallocate(void* block, std::size_t, std::size_t) override {
    std::lock_guard const lock(mutex_);
    auto const found = used_.find(block);
    free_.emplace(found->second, block);
    used_.erase(found);
  }
  bool do_is_equal(std::pmr::memory_resource const& other) const noexcept override { return this == &other; }

  std::pmr::memory_resource* upstream_;
  mutable std::mutex mutex_;
  std::multimap<std::size_t, void*> free_;
  std::map<void*, std::size_t> used_;
};

}  // namespace mbirk::exec
