// The policy that runs the kernels of exec::cuda on the host with one fiber per thread of a block: slow but exact, for
// tests on computers without a GPU.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>

#include "mbirk/exec/concepts.hpp"
#include "mbirk/exec/emulation/run.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/simd/warp.hpp"

namespace mbirk::exec {

/// The emulator's warp plus the operations that only the pack kernels need.
struct emulated_warp : emulation::warp {
  static constexpr bool emulated = true;

  static void assume_global(void const*) noexcept {}
  static void count(std::int32_t* place, std::int32_t times) {
    std::atomic_ref(*place).fetch_add(times, std::memory_order_relaxed);
  }

  static float larger(float a, float b) noexcept { return a < b ? b : a; }
  static float smaller(float a, float b) noexcept { return b < a ? b : a; }
  static float saturated_fma(float a, float b, float c) noexcept {
    float const x = std::fma(a, b, c);
    return x > 0 ? smaller(x, 1) : 0;
  }

  // Approximations with errors up to the bounds of a device (docs/devices.md), the same for equal operands.
  static float divide(float a, float b) noexcept { return perturbed(a / b, 2); }
  static float square_root(float a) noexcept { return perturbed(std::sqrt(a), 1); }
  static float exp2(float a) noexcept { return perturbed(std::exp2(a), 2); }
  static float log2(float a) noexcept {
    float const exact = std::log2(a);
    if (!std::isfinite(exact)) return exact;
    float const share = static_cast<float>(static_cast<int>(scrambled(a) % 2001) - 1000) * 1e-3f;
    return exact + share * 0x1p-22f * std::max(1.0f, std::abs(exact));
  }

 private:
  static std::uint32_t scrambled(float x) noexcept { return (std::bit_cast<std::uint32_t>(x) * 0x9e3779b1u) >> 12; }
  /// x, off by up to `ulps` units in the last place; subnormal numbers become 0.
  static float perturbed(float x, int ulps) noexcept {
    if (!std::isfinite(x)) return x;
    if (std::abs(x) < std::numeric_limits<float>::min()) return std::copysign(0.0f, x);
    int const off = static_cast<int>(scrambled(x) % static_cast<std::uint32_t>(2 * ulps + 1)) - ulps;
    return std::bit_cast<float>(std::bit_cast<std::int32_t>(x) + off);
  }
};

/// A launch returns when all blocks have run, and throws emulation_error with its findings (emulation/options.hpp lists
/// the checks). Memory is host memory; temporaries start out as NaN, so that reads of uninitialised memory show in the
/// results. Copies of a policy share their fibers and counters.
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
  transfer_counts transfers() const noexcept {
    return {state_->uploads, state_->bytes_up, state_->downloads, state_->bytes_down};
  }

  /// Like a small device: enough warps to distribute the tasks, few enough that a warp gets several.
  int workers(index_t tasks) const noexcept { return static_cast<int>(std::clamp<index_t>(tasks, 1, 64)); }
  host host_companion() const noexcept { return host{1}; }
  /// This policy with one worker, for instrumentation that counts on the thread it runs on.
  emulated serial() const {
    emulated one = *this;
    one.options_.workers = 1;
    return one;
  }

  template <class Kernel> void launch(Kernel const& kernel, index3 grid) const {
    emulation::run(kernel, grid, options_, state_->emulators);
  }
  void upload(void* to, void const* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
    state_->uploads += 1;
    state_->bytes_up += static_cast<index_t>(bytes);
  }
  void download(void* to, void const* from, std::size_t bytes) const {
    std::memcpy(to, from, bytes);
    state_->downloads += 1;
    state_->bytes_down += static_cast<index_t>(bytes);
  }
  void copy(void* to, void const* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
  void clear(void* to, std::size_t bytes) const { std::memset(to, 0, bytes); }

  void* allocate(std::size_t bytes) const {
    void* const p = std::pmr::new_delete_resource()->allocate(bytes, 64);
    return std::memset(p, 0xff, bytes);
  }
  void deallocate(void* p, std::size_t bytes) const noexcept {
    std::pmr::new_delete_resource()->deallocate(p, bytes, 64);
  }
  std::string memory_text() const { return {}; }

  /// Whether the work of both policies is queued on one stream.
  bool same_stream(emulated const& other) const noexcept { return state_ == other.state_; }
  mark timestamp() const noexcept { return std::chrono::steady_clock::now(); }
  double seconds(mark from, mark to) const noexcept { return std::chrono::duration<double>(to - from).count(); }
  void wait() const noexcept {}

 private:
  struct state {
    emulation::emulator_pool emulators;
    std::atomic<index_t> uploads = 0, bytes_up = 0, downloads = 0, bytes_down = 0;
  };
  emulation_options options_;
  std::shared_ptr<state> state_;
};

static_assert(execution_policy<emulated> && block_policy<emulated> && simd::warp_pack_backend<emulated::backend>);

}  // namespace mbirk::exec
