// What exec::cuda asks of the CUDA runtime, with a stand-in for it: several devices, an old driver, a device without
// memory pools, memory that runs out. Needs the toolkit's headers, but neither its library nor a device.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "mbirk/exec/array.hpp"
#include "mbirk/exec/cuda.hpp"

namespace {

/// The state of the stand-in. Streams are numbered from 1, stream s belongs to device s - 1.
struct stand_in {
  int driver = 13000, devices = 2;
  cudaError_t count_status = cudaSuccess;
  bool pools = true, describes = true;
  std::size_t memory = 1000;                 // bytes of a device
  std::map<void*, std::size_t> used, kept;   // allocated, and kept by the pool after it was freed
  std::vector<int> launched_on, allocated_on;
  int pool_calls = 0, plain_calls = 0, described = 0, trims = 0;
  std::size_t pinned = 0;
  bool copies_wait = false;                  // until their event is waited for
  std::map<cudaEvent_t, int> pending;        // copies before an event
  int unrecorded = 0, waits = 0;

  std::size_t total() const {
    std::size_t sum = 0;
    for (auto const* memories : {&used, &kept})
      for (auto const& [place, bytes] : *memories) sum += bytes;
    return sum;
  }
};
stand_in runtime;
thread_local int current = 0;

cudaError_t take(void** p, std::size_t bytes) {
  runtime.allocated_on.push_back(current);
  for (auto const& [place, kept] : runtime.kept)
    if (kept == bytes) {
      *p = place;
      runtime.used.insert(runtime.kept.extract(place));
      return cudaSuccess;
    }
  if (runtime.total() + bytes > runtime.memory) return cudaErrorMemoryAllocation;
  *p = ::operator new(bytes);
  runtime.used.emplace(*p, bytes);
  return cudaSuccess;
}
cudaError_t drop(std::map<void*, std::size_t>& from, void* p) {
  ::operator delete(p);
  from.erase(p);
  return cudaSuccess;
}
cudaStream_t stream_of(int device) { return reinterpret_cast<cudaStream_t>(static_cast<std::uintptr_t>(device + 1)); }

struct empty_kernel {
  static constexpr mbirk::launch_bounds bounds{128, 1};
};

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's
extern "C" {
cudaError_t cudaGetLastError() { return cudaSuccess; }
char const* cudaGetErrorName(cudaError_t) { return "cudaErrorOfTheStandIn"; }
char const* cudaGetErrorString(cudaError_t) { return "planted"; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = runtime.driver;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = runtime.count_status == cudaSuccess ? runtime.devices : 0;
  return runtime.count_status;
}
cudaError_t cudaGetDevice(int* device) {
  *device = current;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  current = device;
  return device < runtime.devices ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrMultiProcessorCount          ? 10
           : attribute == cudaDevAttrMemoryPoolsSupported       ? runtime.pools
           : attribute == cudaDevAttrMaxThreadsPerMultiProcessor ? 2048
                                                                 : 9;
  return cudaSuccess;
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, cudaMemPoolProps const*) {
  *pool = reinterpret_cast<cudaMemPool_t>(&runtime);
  return runtime.pools ? cudaSuccess : cudaErrorNotSupported;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
  ++runtime.trims;
  while (!runtime.kept.empty()) drop(runtime.kept, runtime.kept.begin()->first);
  return cudaSuccess;
}
cudaError_t cudaMallocFromPoolAsync(void** p, std::size_t bytes, cudaMemPool_t, cudaStream_t) {
  ++runtime.pool_calls;
  return take(p, bytes);
}
cudaError_t cudaFreeAsync(void* p, cudaStream_t) {
  runtime.kept.insert(runtime.used.extract(p));
  return cudaSuccess;
}
cudaError_t cudaMalloc(void** p, std::size_t bytes) {
  ++runtime.plain_calls;
  return take(p, bytes);
}
cudaError_t cudaFree(void* p) { return drop(runtime.used, p); }
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *total = runtime.memory;
  *free = runtime.memory - runtime.total();
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = stream_of(current);
  return cudaSuccess;
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  *device = static_cast<int>(reinterpret_cast<std::uintptr_t>(stream)) - 1;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) { return cudaSuccess; }
cudaError_t cudaMallocHost(void** p, std::size_t bytes) {
  runtime.pinned += bytes;
  *p = ::operator new(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* p) {
  ::operator delete(p);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t*) { return cudaSuccess; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  static std::uintptr_t number = 0;
  *event = reinterpret_cast<cudaEvent_t>(++number);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  if (runtime.copies_wait) runtime.pending[event] = runtime.unrecorded;
  runtime.unrecorded = 0;
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return runtime.pending.contains(event) ? cudaErrorNotReady : cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  runtime.waits += static_cast<int>(runtime.pending.erase(event));
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 0;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaMemcpyAsync(void* to, void const* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t) {
  ++runtime.unrecorded;
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}
}
// NOLINTEND(readability-identifier-naming)

namespace mbirk::exec::detail {
template <> void launch_on_stream<empty_kernel>(empty_kernel const&, index3, cudaStream_t) {
  runtime.launched_on.push_back(current);
}
template <> bool describe_kernel<empty_kernel>(cudaFuncAttributes& made, int& blocks) {
  ++runtime.described;
  made = {};
  blocks = 7;
  return runtime.describes;
}
}  // namespace mbirk::exec::detail

namespace {

using namespace mbirk;

struct CudaRuntime : ::testing::Test {
  void SetUp() override {
    runtime = {};
    current = 0;
  }
  void TearDown() override {
    while (!runtime.kept.empty()) drop(runtime.kept, runtime.kept.begin()->first);
  }
};

TEST_F(CudaRuntime, SaysWhyThereIsNoDevice) {
  EXPECT_EQ(exec::cuda::missing(), "");
  EXPECT_TRUE(exec::cuda::available());
  runtime.devices = 0;
  EXPECT_EQ(exec::cuda::missing(), "there is no CUDA device");
  runtime.driver = 0;
  EXPECT_EQ(exec::cuda::missing(), "no CUDA driver is installed");
  EXPECT_FALSE(exec::cuda::available());
}

TEST_F(CudaRuntime, AnOldDriverIsNotTheLackOfADevice) {
  runtime.driver = 12020;
  runtime.count_status = cudaErrorInsufficientDriver;
  std::string const missing = exec::cuda::missing();
  EXPECT_NE(missing.find("too old: it supports CUDA 12.2, expected at least 1"), std::string::npos) << missing;
  try {
    exec::cuda const policy;
    FAIL() << "no error";
  } catch (device_error const& e) {
    EXPECT_EQ(e.what(), missing);
  }
}

// A policy of the second device, used on a thread whose current device is the first.
TEST_F(CudaRuntime, CallsFindTheDeviceOfThePolicy) {
  exec::cuda const policy(stream_of(1));
  EXPECT_EQ(policy.device(), 1);
  EXPECT_EQ(current, 0);
  std::thread([&] {
    exec::array<float, exec::cuda> const values(policy, std::vector<float>{1, 2, 3});
    policy.launch(empty_kernel{}, {1, 1, 1});
    EXPECT_EQ(current, 0) << "the caller's device";
  }).join();
  EXPECT_EQ(runtime.launched_on, std::vector<int>{1});
  EXPECT_EQ(runtime.allocated_on, std::vector<int>{1});
}

TEST_F(CudaRuntime, WorksWithoutMemoryPools) {
  runtime.pools = false;
  {
    exec::cuda const policy;
    exec::array<float, exec::cuda> const values(policy, std::vector<float>{1, 2, 3});
    std::vector<float> back(3);
    values.download(back);
    EXPECT_EQ(back, (std::vector<float>{1, 2, 3}));
  }
  EXPECT_EQ(runtime.pool_calls, 0);
  EXPECT_EQ(runtime.plain_calls, 1);
  EXPECT_TRUE(runtime.used.empty());
}

// The pool keeps freed memory, which another size cannot use until the pool gives it back.
TEST_F(CudaRuntime, GivesBackMemoryBeforeItRunsOut) {
  exec::cuda const policy;
  policy.deallocate(policy.allocate(600), 600);
  void* const larger = policy.allocate(700);
  EXPECT_EQ(runtime.trims, 1);
  EXPECT_THROW(policy.allocate(400), std::bad_alloc);
  try {
    exec::array<float, exec::cuda> const values(policy, 100);
    FAIL() << "no error";
  } catch (allocation_error const& e) {
    EXPECT_NE(std::string(e.what()).find("400 bytes"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("300 bytes of 1000 are free"), std::string::npos) << e.what();
  }
  policy.deallocate(larger, 700);
  policy.deallocate(policy.allocate(700), 700);
  runtime.kept.clear();
  ::operator delete(larger);
}

// Uploads that are larger than a piece take the memory of two pieces, whatever their size; each piece waits only for
// the copy of the one before the last.
TEST_F(CudaRuntime, LargeUploadsGoInPieces) {
  constexpr std::size_t piece = std::size_t{32} << 20;
  std::vector<float> values(piece * 7 / 8);  // 3.5 pieces
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = static_cast<float>(k % 8191);
  runtime.memory = values.size() * sizeof(float);
  runtime.copies_wait = true;
  {
    exec::cuda const policy;
    exec::array<float, exec::cuda> const there(policy, values);
    EXPECT_EQ(runtime.pinned, 2 * piece);
    EXPECT_EQ(runtime.waits, 2) << "the third and the fourth";
    EXPECT_EQ(policy.transfers().uploads, 1);
    EXPECT_EQ(policy.transfers().bytes_up, static_cast<index_t>(values.size() * sizeof(float)));
    std::vector<float> back(values.size());
    there.download(back);
    EXPECT_TRUE(back == values);
    policy.upload(there.data(), values.data(), piece + 4);
    EXPECT_EQ(runtime.pinned, 2 * piece);
    EXPECT_EQ(runtime.waits, 4);
    policy.upload(there.data(), values.data(), piece);  // one block, which is free again later
    EXPECT_EQ(runtime.pinned, 3 * piece);
  }
}

TEST_F(CudaRuntime, AsksOnceHowManyWarpsOfAKernelFit) {
  exec::cuda const policy;
  EXPECT_EQ(policy.workers_of<empty_kernel>(1 << 20), 10 * 7 * 4);
  EXPECT_EQ(policy.workers_of<empty_kernel>(5), 5);
  EXPECT_EQ(policy.workers_of<empty_kernel>(0), 1);
  EXPECT_EQ(runtime.described, 1);
  runtime.describes = false;
  EXPECT_EQ(exec::cuda().workers_of<empty_kernel>(1 << 20), 10 * 4) << "one block, if the runtime does not tell";
}

}  // namespace
