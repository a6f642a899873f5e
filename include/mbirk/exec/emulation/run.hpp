// Launch of a block kernel on the host.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <limits>
#include <list>
#include <memory>
#include <mutex>
#include <numeric>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "mbirk/exec/emulation/block.hpp"
#include "mbirk/exec/emulation/block_emulator.hpp"

namespace mbirk::exec::emulation {

/// Pool of block emulators that no launch is using. Creating the fibers of a block costs as much as running it, so
/// frequent callers keep a pool. Thread-safe.
class emulator_pool {
 public:
  std::unique_ptr<block_emulator> take() {
    std::lock_guard const lock(mutex_);
    if (free_.empty()) return std::make_unique<block_emulator>();
    auto m = std::move(free_.back());
    free_.pop_back();
    return m;
  }
  void give(std::unique_ptr<block_emulator> m) {
    std::lock_guard const lock(mutex_);
    free_.push_back(std::move(m));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<block_emulator>> free_;
};

/// Distributes the blocks, in the order of the seed, to workers one at a time. A launch ends at its first failed block;
/// earlier blocks still run to their end, so that the findings do not depend on the number of workers.
class launch {
 public:
  explicit launch(job const& j)
      : job_(j), count_(static_cast<index_t>(j.grid.x) * j.grid.y * j.grid.z), failed_(count_) {
    if (j.options.seed == 0) return;
    order_.resize(static_cast<std::size_t>(count_));
    std::iota(order_.begin(), order_.end(), index_t{0});
    random_numbers random(j.options.seed, ~std::uint64_t{0});
    for (std::size_t i = order_.size(); i > 1; --i)
      std::swap(order_[i - 1], order_[random.below(static_cast<std::uint32_t>(i))]);
  }

  index_t blocks() const noexcept { return count_; }

  /// Runs blocks until none is left.
  void work(block_emulator& m) {
    struct restore {
      block_emulator* before = running;
      ~restore() { running = before; }
    } const restored;
    m.prepare(job_);
    running = &m;
    for (index_t turn = next_++; turn < failed_.load(); turn = next_++) {
      if (m.run_block(turn, place(turn))) continue;
      index_t first = failed_.load();
      while (turn < first && !failed_.compare_exchange_weak(first, turn)) {}
      std::lock_guard const lock(mutex_);
      if (m.thrown() && turn < thrown_at_) {
        thrown_ = m.thrown();
        thrown_at_ = turn;
      }
      break;
    }
    std::lock_guard const lock(mutex_);
    for (auto const& e : m.found().entries()) found_.push_back(e);
    m.forget();
  }

  /// Throws the exception or the findings of the blocks up to and including the first failed one.
  void finish() {
    index_t const failed = failed_.load();
    if (thrown_ && thrown_at_ == failed) std::rethrow_exception(thrown_);
    std::erase_if(found_, [&](auto const& e) { return e.turn > failed; });
    found_.sort([](auto const& a, auto const& b) { return a.turn < b.turn; });
    finding_list all;
    for (auto const& e : found_) all.add(e);
    if (all.entries().empty()) return;
    std::vector<finding> findings;
    for (auto const& e : all.entries()) findings.push_back(e.what);
    throw emulation_error(std::move(findings));
  }

 private:
  index3 place(index_t turn) const noexcept {
    index_t const i = order_.empty() ? turn : order_[static_cast<std::size_t>(turn)], row = i / job_.grid.x;
    return {static_cast<int>(i % job_.grid.x), static_cast<int>(row % job_.grid.y),
            static_cast<int>(row / job_.grid.y)};
  }

  job job_;
  index_t count_;
  std::vector<index_t> order_;
  std::atomic<index_t> next_ = 0, failed_;
  std::mutex mutex_;
  std::list<finding_list::entry> found_;  // a list, because list::sort is stable
  std::exception_ptr thrown_;
  index_t thrown_at_ = std::numeric_limits<index_t>::max();
};

/// Calls the kernel from the running thread.
template <class Kernel> void call_kernel(void const* kernel, block_emulator& m) {
  using block_type = block<Kernel::bounds.threads>;
  using shared = typename Kernel::template shared<block_type>;
  static_assert(std::is_trivially_copyable_v<Kernel>,
                "a kernel is trivially copyable: it goes to the device as a parameter");
  static_assert(std::is_trivially_destructible_v<shared> && alignof(shared) <= block_emulator::alignment,
                "shared memory is an aggregate of tiles");
  block_type const b(m);
  (*static_cast<Kernel const*>(kernel))(b, *reinterpret_cast<shared*>(m.shared_memory()));
}

/// The part of a launch that does not depend on the kernel's type.
inline void run_job(job const& j, emulator_pool& pool) {
  index3 const grid = j.grid;
  require(grid.x >= 0 && grid.y >= 0 && grid.z >= 0, [&] {
    return "the extents of a grid are not negative; found (" + std::to_string(grid.x) + ", " + std::to_string(grid.y) +
           ", " + std::to_string(grid.z) + ")";
  });
  require(j.options.preempt >= 0,
          [&] { return "preempt is not negative; found " + std::to_string(j.options.preempt); });
  require(j.options.workers >= 1,
          [&] { return "a launch has at least 1 worker; found " + std::to_string(j.options.workers); });
  launch all(j);
  if (all.blocks() == 0) return;

  std::exception_ptr failure;
  std::mutex failure_mutex;
  auto const work = [&] {
    try {
      auto m = pool.take();
      all.work(*m);
      pool.give(std::move(m));
    } catch (...) {  // for example, no memory for stacks
      std::lock_guard const lock(failure_mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  index_t const workers = std::min<index_t>(j.options.workers, all.blocks());
  for (index_t w = 1; w < workers; ++w) {
    try {
      others.emplace_back(work);
    } catch (std::system_error const&) {
      break;  // the existing threads share the work
    }
  }
  work();
  for (auto& t : others) t.join();
  if (failure) std::rethrow_exception(failure);
  all.finish();
}

/// Runs kernel(block, shared) with Kernel::bounds.threads threads for every block of the grid.
///
/// @throws parameter_error  negative extents or preempt, or no worker
/// @throws emulation_error  findings, at the end of the launch
/// @throws any exception of the kernel, from the first block to fail in the order of the seed
template <class Kernel>
void run(Kernel const& kernel, index3 grid, emulation_options const& options, emulator_pool& pool) {
  using shared = typename Kernel::template shared<block<Kernel::bounds.threads>>;
  constexpr std::size_t shared_bytes = std::is_empty_v<shared> ? 0 : sizeof(shared);
  run_job({&call_kernel<Kernel>, &kernel, Kernel::bounds.threads, shared_bytes, grid, options}, pool);
}

/// Overload that creates its own emulators.
template <class Kernel> void run(Kernel const& kernel, index3 grid, emulation_options const& options) {
  emulator_pool pool;
  run(kernel, grid, options, pool);
}

}  // namespace mbirk::exec::emulation
