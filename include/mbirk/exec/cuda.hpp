// The CUDA policy: a stream, memory from a pool, kernels of blocks. Only download(), wait() and seconds() block the
// host.
//
// Any host compiler can compile this header; the kernels then come from mbirk::compiled_cuda. With nvcc, include
// exec/cuda.cuh to compile them, or kernels of your own, from headers.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "mbirk/core/error.hpp"
#include "mbirk/exec/block.hpp"
#include "mbirk/exec/concepts.hpp"
#include "mbirk/exec/cuda_device.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/exec/tuning.hpp"
#include "mbirk/simd/warp.hpp"

namespace mbirk::exec {

struct cuda_warp;  // block_cuda.cuh

namespace detail {

/// Queues a kernel on a stream. Defined in exec/cuda.cuh.
template <class Kernel> void launch_on_stream(Kernel const& kernel, index3 grid, cudaStream_t stream);

/// Queries the compiled attributes of a kernel and how many of its blocks fit a multiprocessor; false if the runtime
/// does not report them. Defined in exec/cuda.cuh.
template <class Kernel> bool describe_kernel(cudaFuncAttributes& made, int& blocks);

/// State shared by the copies of a policy: the memory pool, pinned memory for uploads, and counters.
class cuda_state {
 public:
  explicit cuda_state(cudaStream_t given) {
    std::string const missing = no_device_because();
    require<device_error>(missing.empty(), [&] { return missing; });
    if (given) check_cuda(cudaStreamGetDevice(given, &device), "cudaStreamGetDevice");
    else check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    device_guard const current(device);
    check_cuda(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device),
               "cudaDeviceGetAttribute");
    int major = 0, minor = 0;
    check_cuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
    check_cuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "cudaDeviceGetAttribute");
    capability = 10 * major + minor;
    int has_pools = 0;
    check_cuda(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, device), "cudaDeviceGetAttribute");
    if (has_pools) {
      cudaMemPoolProps properties{};
      properties.allocType = cudaMemAllocationTypePinned;
      properties.location = {cudaMemLocationTypeDevice, device};
      check_cuda(cudaMemPoolCreate(&pool, &properties), "cudaMemPoolCreate");
    }
    // Freed memory stays in the pool, so that repeated operations allocate only once.
    std::uint64_t keep = std::numeric_limits<std::uint64_t>::max();
    cudaError_t const kept =
        pool ? cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep) : cudaSuccess;
    cudaError_t const made =
        kept == cudaSuccess && !given ? cudaStreamCreateWithFlags(&own_stream, cudaStreamNonBlocking) : kept;
    if (made != cudaSuccess) {
      if (pool) cudaMemPoolDestroy(pool);
      check_cuda(made, kept == cudaSuccess ? "cudaStreamCreateWithFlags" : "cudaMemPoolSetAttribute");
    }
    stream = given ? given : own_stream;
  }
  ~cuda_state() {
    cudaStreamSynchronize(stream);
    for (auto& b : pinned_) release(b);
    for (auto& b : pieces_)
      if (b) release(*b);
    if (pool) cudaMemPoolDestroy(pool);
    if (own_stream) cudaStreamDestroy(own_stream);
  }
  cuda_state(cuda_state const&) = delete;
  cuda_state& operator=(cuda_state const&) = delete;

  /// Copies through pinned memory, because a copy from pageable memory would wait for the stream. Large arrays go in
  /// pieces through two blocks in turn, one of which is filled while the other is copied. Pinned blocks captured in a
  /// graph are not reused.
  void upload(void* to, void const* from, std::size_t bytes) {
    std::lock_guard const lock(mutex_);
    device_guard const current(device);
    bool const in_graph = captured(), whole = in_graph || bytes <= pinned_piece;
    std::size_t done = 0;
    do {
      std::size_t const now = whole ? bytes : std::min(pinned_piece, bytes - done);
      auto& block = whole ? find_pinned(bytes, in_graph) : find_piece();
      std::memcpy(block.memory, static_cast<char const*>(from) + done, now);
      check_cuda(cudaMemcpyAsync(static_cast<char*>(to) + done, block.memory, now, cudaMemcpyHostToDevice, stream),
                 "cudaMemcpyAsync");
      if (!in_graph) check_cuda(cudaEventRecord(block.done, stream), "cudaEventRecord");
      done += now;
    } while (done < bytes);
    uploads += 1;
    bytes_up += static_cast<index_t>(bytes);
  }

  /// Device memory in stream order, or, without pools, at once. Memory that the pool keeps in other sizes is given back
  /// before memory counts as exhausted.
  /// @throws std::bad_alloc, device_error
  void* allocate(std::size_t bytes) {
    device_guard const current(device);
    void* p = nullptr;
    cudaError_t status = allocate_once(&p, bytes);
    if (status == cudaErrorMemoryAllocation && pool && !captured()) {
      (void)cudaGetLastError();
      check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
      check_cuda(cudaMemPoolTrimTo(pool, 0), "cudaMemPoolTrimTo");
      status = allocate_once(&p, bytes);
    }
    if (status == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      throw std::bad_alloc();
    }
    check_cuda(status, pool ? "cudaMallocFromPoolAsync" : "cudaMalloc");
    return p;
  }
  void deallocate(void* p) noexcept {
    if (pool) (void)cudaFreeAsync(p, stream);
    else (void)cudaFree(p);  // waits until the device no longer uses it
  }

  /// Blocks of a kernel that a multiprocessor holds, found once per kernel; at least 1.
  template <class Kernel> int resident_blocks() {
    kernel_query const query = &describe_kernel<Kernel>;
    std::lock_guard const lock(mutex_);
    auto const found = resident_.find(query);
    if (found != resident_.end()) return found->second;
    device_guard const current(device);
    outside_of_capture const allowed;  // the first query of a kernel loads it
    cudaFuncAttributes made{};
    int blocks = 0;
    if (!query(made, blocks)) {
      (void)cudaGetLastError();
      blocks = 0;
    }
    return resident_.emplace(query, std::max(1, blocks)).first->second;
  }

  int device = 0, multiprocessors = 0, capability = 0;
  cudaMemPool_t pool = nullptr;
  cudaStream_t own_stream = nullptr, stream = nullptr;
  std::atomic<index_t> uploads = 0, bytes_up = 0, downloads = 0, bytes_down = 0;

 private:
  static constexpr std::size_t pinned_piece = std::size_t{32} << 20;
  using kernel_query = bool (*)(cudaFuncAttributes&, int&);
  struct pinned_block {
    void* memory;
    std::size_t bytes;
    cudaEvent_t done;
    bool in_graph;
  };

  pinned_block& find_pinned(std::size_t bytes, bool in_graph) {
    if (!in_graph)
      for (auto& b : pinned_) {
        if (b.in_graph || b.bytes < bytes || b.bytes > 4 * bytes + 4096) continue;
        cudaError_t const state = cudaEventQuery(b.done);
        if (state == cudaSuccess) return b;
        if (state != cudaErrorNotReady) check_cuda(state, "cudaEventQuery");
      }
    return pinned_.emplace_back(make_pinned(bytes, in_graph));
  }
  /// The block whose turn it is, once it has been copied.
  pinned_block& find_piece() {
    auto& block = pieces_[next_piece_];
    next_piece_ = 1 - next_piece_;
    if (!block) block = make_pinned(pinned_piece, false);
    else check_cuda(cudaEventSynchronize(block->done), "cudaEventSynchronize");
    return *block;
  }
  static pinned_block make_pinned(std::size_t bytes, bool in_graph) {
    outside_of_capture const allowed;
    pinned_block block{nullptr, bytes, nullptr, in_graph};
    cudaError_t status = cudaMallocHost(&block.memory, bytes);
    if (status == cudaSuccess) status = cudaEventCreateWithFlags(&block.done, cudaEventDisableTiming);
    if (status != cudaSuccess) {
      if (block.memory) cudaFreeHost(block.memory);
      check_cuda(status, "cudaMallocHost");
    }
    return block;
  }

  static void release(pinned_block const& b) noexcept {
    cudaEventDestroy(b.done);
    cudaFreeHost(b.memory);
  }
  bool captured() const {
    cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    check_cuda(cudaStreamIsCapturing(stream, &capture), "cudaStreamIsCapturing");
    return capture != cudaStreamCaptureStatusNone;
  }
  cudaError_t allocate_once(void** p, std::size_t bytes) const {
    return pool ? cudaMallocFromPoolAsync(p, bytes, pool, stream) : cudaMalloc(p, bytes);
  }

  std::mutex mutex_;
  std::list<pinned_block> pinned_;
  std::optional<pinned_block> pieces_[2];  // of large uploads
  int next_piece_ = 0;
  std::map<kernel_query, int> resident_;
};

}  // namespace detail

/// Runs operations on a CUDA device. Copies of a policy share its stream and pool. Arrays of operations are in device
/// memory; lists of pixels and parameters are on the host. An operation queues its work and returns; only operations
/// that return numbers to the host (a record, a threshold) wait.
class cuda {
 public:
  using policy_category = execution_policy_tag;
  using backend = simd::warp_backend<cuda_warp>;
  using host_side = host;
  static constexpr std::string_view name = "cuda";

  /// A point on the stream's time line.
  class mark {
   public:
    mark(cudaStream_t stream, int device) {
      detail::device_guard const current(device);
      cudaEvent_t made = nullptr;
      check_cuda(cudaEventCreate(&made), "cudaEventCreate");
      event_.reset(made, [](cudaEvent_t e) { cudaEventDestroy(e); });
      check_cuda(cudaEventRecord(made, stream), "cudaEventRecord");
    }
    cudaEvent_t event() const noexcept { return event_.get(); }

   private:
    std::shared_ptr<CUevent_st> event_;
  };

  static bool available() { return missing().empty(); }
  /// Why no device can be used: no driver, one that is too old, no device; empty if one can.
  static std::string missing() { return detail::no_device_because(); }

  /// Creates a policy for the device of `stream`, or, without one, for the current device. Its calls find that device
  /// from any thread, whichever device is current there.
  ///
  /// @param stream    the caller's stream, which must outlive the policy; null to create one, which is never the
  ///                  default stream.
  /// @param resource  source of temporaries: device memory that is safe to use in stream order; null for the policy's
  ///                  own pool.
  /// @throws device_error when there is no device.
  explicit cuda(cudaStream_t stream = nullptr, std::pmr::memory_resource* resource = nullptr)
      : state_(std::make_shared<detail::cuda_state>(stream)), resource_(resource) {}

  cudaStream_t stream() const noexcept { return state_->stream; }
  int device() const noexcept { return state_->device; }
  /// Compute capability, 90 for 9.0.
  int capability() const noexcept { return state_->capability; }
  transfer_counts transfers() const noexcept {
    return {state_->uploads, state_->bytes_up, state_->downloads, state_->bytes_down};
  }

  /// Number of warps of an average kernel that are resident at the same time on a full device.
  int workers(index_t tasks) const noexcept {
    index_t const most = index_t{state_->multiprocessors} * tuning_for(capability()).warps_per_multiprocessor;
    return static_cast<int>(clamp<index_t>(tasks, 1, most));
  }
  /// Number of warps of this kernel that are resident at the same time on a full device: with more, the last ones would
  /// run alone, in a second wave.
  template <class Kernel> int workers_of(index_t tasks) const {
    index_t const blocks = index_t{state_->multiprocessors} * state_->template resident_blocks<Kernel>();
    return static_cast<int>(clamp<index_t>(tasks, 1, blocks * (Kernel::bounds.threads / warp_lanes)));
  }
  host host_companion() const noexcept { return host{}; }
  /// Counting needs the kernels' arithmetic on the host.
  template <class Never = void> cuda serial() const {
    static_assert(!std::is_void_v<Never>,
                  "operations are not counted on exec::cuda: count them on exec::emulated, whose kernels are the same");
    return *this;
  }

  template <class Kernel> void launch(Kernel const& kernel, index3 grid) const {
    static_assert(std::is_trivially_copyable_v<Kernel>, "a kernel is passed by value: views, not owners");
    detail::device_guard const current(device());
    detail::launch_on_stream(kernel, grid, stream());
  }

  /// Fills in the compiler's results for a kernel: registers, shared memory, and the achievable occupancy in percent.
  template <class Kernel> void describe(kernel_info& k) const {
    detail::device_guard const current(device());
    cudaFuncAttributes made{};
    int blocks = 0, most = 0;
    if (!detail::describe_kernel<Kernel>(made, blocks) ||
        cudaDeviceGetAttribute(&most, cudaDevAttrMaxThreadsPerMultiProcessor, state_->device) != cudaSuccess) {
      (void)cudaGetLastError();
      return;
    }
    k.registers = made.numRegs;
    k.shared_bytes = static_cast<index_t>(made.sharedSizeBytes);
    k.occupancy = 100 * blocks * Kernel::bounds.threads / most;
  }

  void upload(void* to, void const* from, std::size_t bytes) const { state_->upload(to, from, bytes); }
  void download(void* to, void const* from, std::size_t bytes) const {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream()), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
    state_->downloads += 1;
    state_->bytes_down += static_cast<index_t>(bytes);
  }
  void copy(void* to, void const* from, std::size_t bytes) const {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()), "cudaMemcpyAsync");
  }
  void clear(void* to, std::size_t bytes) const {
    check_cuda(cudaMemsetAsync(to, 0, bytes, stream()), "cudaMemsetAsync");
  }

  void* allocate(std::size_t bytes) const {
    return resource_ ? resource_->allocate(bytes, 64) : state_->allocate(bytes);
  }
  void deallocate(void* p, std::size_t bytes) const noexcept {
    if (resource_) resource_->deallocate(p, bytes, 64);
    else state_->deallocate(p);
  }
  std::string memory_text() const {
    std::size_t free = 0, total = 0;
    detail::device_guard const current(device());
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) {
      (void)cudaGetLastError();
      return std::string();
    }
    return " on the device: " + std::to_string(free) + " bytes of " + std::to_string(total) + " are free";
  }

  /// Whether the work of both policies is queued on one stream.
  bool same_stream(cuda const& other) const noexcept { return state_ == other.state_; }
  mark timestamp() const { return mark(stream(), device()); }
  /// Seconds between two marks; waits until the stream has reached `to`.
  double seconds(mark const& from, mark const& to) const {
    float milliseconds = 0;
    check_cuda(cudaEventSynchronize(to.event()), "cudaEventSynchronize");
    check_cuda(cudaEventElapsedTime(&milliseconds, from.event(), to.event()), "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }
  void wait() const { check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

 private:
  std::shared_ptr<detail::cuda_state> state_;
  std::pmr::memory_resource* resource_;
};

static_assert(execution_policy<cuda> && block_policy<cuda> && simd::warp_pack_backend<cuda::backend>);

}  // namespace mbirk::exec
