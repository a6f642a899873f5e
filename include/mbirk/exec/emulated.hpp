// The policy that runs the kernels of exec::cuda on the host, a fiber for every thread of a block: slow and exact, for tests where no device is.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>

#include "mbirk/exec/concepts.hpp"
#include "mbirk/exec/emulation/run.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/simd/warp.hpp"

namespace mbirk::exec {

/// The warp of the emulation with what the pack kernels need besides.
struct emulated_warp : emulation::warp {
  static void count(std::int32_t* place) { std::atomic_ref(*place).fetch_add(1, std::memory_order_relaxed); }
};

/// A launch returns when all blocks are done, and throws emulation_error with what it found (emulation/options.hpp says what is looked for). Memory is
/// the host's; temporaries begin as NaN, so what is read before it is written shows. Copies of a policy share their fibers and counters.
class emulated {
 public:
  using policy_category = execution_policy_tag;
  using backend = simd::warp_backend<emulated_warp>;
  using host_side = host;
  using mark = std::chrono::steady_clock::time_point;
  static constexpr std::string_view name = "emulated";

  explicit emulated(emulation_options const& options = {}) : options_(options), state_(std::make_shared<state>()) {}

  static bool available() noexcept { return true; }
  emulation_options const& options() const noexcept { return options_; }
  transfer_counts transfers() const noexcept { return {state_->uploads, state_->bytes_up, state_->downloads, state_->bytes_down}; }

  /// A small device: enough warps that tasks are shared out, few enough that a warp has several.
  int workers(index_t tasks) const noexcept { return static_cast<int>(std::clamp<index_t>(tasks, 1, 64)); }
  host host_companion() const noexcept { return host{1}; }
  /// The same with one worker: for what counts on the thread that it runs on.
  emulated serial() const {
    emulated one = *this;
    one.options_.workers = 1;
    return one;
  }

  template <class Kernel> void launch(Kernel const& kernel, index3 grid, int dynamic_bytes) const {
    emulation::run(kernel, grid, dynamic_bytes, options_, state_->machines);
  }
  void upload(void* to, void const* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
    state_->uploads += 1, state_->bytes_up += static_cast<index_t>(bytes);
  }
  void download(void* to, void const* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
    state_->downloads += 1, state_->bytes_down += static_cast<index_t>(bytes);
  }
  void copy(void* to, void const* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
  void clear(void* to, std::size_t bytes) const { std::memset(to, 0, bytes); }

  void* allocate(std::size_t bytes) const {
    void* const p = std::pmr::new_delete_resource()->allocate(bytes, 64);
    return std::memset(p, 0xff, bytes);
  }
  void deallocate(void* p, std::size_t bytes) const noexcept { std::pmr::new_delete_resource()->deallocate(p, bytes, 64); }
  std::string memory_text() const { return {}; }

  /// Whether work of both is queued in one order.
  bool same_stream(emulated const& other) const noexcept { return state_ == other.state_; }
  mark timestamp() const noexcept { return std::chrono::steady_clock::now(); }
  double seconds(mark from, mark to) const noexcept { return std::chrono::duration<double>(to - from).count(); }
  void wait() const noexcept {}

 private:
  struct state {
    emulation::machines machines;
    std::atomic<index_t> uploads = 0, bytes_up = 0, downloads = 0, bytes_down = 0;
  };
  emulation_options options_;
  std::shared_ptr<state> state_;
};

static_assert(execution_policy<emulated> && block_policy<emulated>);

}  // namespace mbirk::exec
