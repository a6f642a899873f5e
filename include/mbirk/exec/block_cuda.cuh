// The block of exec::cuda: implements block.hpp with CUDA's built-in variables and intrinsics, which only one other
// header uses.
#pragma once

#include <cuda_pipeline.h>

#include <cstdint>

#include "mbirk/core/error.hpp"
#include "mbirk/exec/block.hpp"

namespace mbirk::exec {

/// The 32 threads of a warp; every operation involves all of them.
struct cuda_warp {
  static constexpr unsigned all = 0xffffffffu;

  static __device__ int lane() { return static_cast<int>(threadIdx.x) & (warp_lanes - 1); }
  static __device__ void sync() { __syncwarp(); }
  template <class T> static __device__ T shfl(T x, int from) { return __shfl_sync(all, x, from); }
  template <class T> static __device__ T shfl_xor(T x, int mask) { return __shfl_xor_sync(all, x, mask); }
  static __device__ unsigned ballot(bool p) { return __ballot_sync(all, p); }
  static __device__ unsigned match(int x) { return __match_any_sync(all, x); }
  /// Every lane gets the sum. The order of the additions equals that of the emulator.
  template <class T> static __device__ T sum(T x) {
    for (int step = warp_lanes / 2; step > 0; step /= 2) x += shfl_xor(x, step);
    return x;
  }
  static __device__ void assume_global(void const* p) { __builtin_assume(__isGlobal(p)); }
  static __device__ void count(std::int32_t* place, std::int32_t times) { atomicAdd(place, times); }
  static __device__ void prefetch(float const* p) { asm volatile("prefetch.global.L1 [%0];" ::"l"(p)); }

  static __device__ float larger(float a, float b) { return fmaxf(a, b); }
  static __device__ float smaller(float a, float b) { return fminf(a, b); }
  static __device__ float saturated_fma(float a, float b, float c) { return __saturatef(fmaf(a, b, c)); }

  // Approximations of the special function unit; subnormal numbers count as 0. PTX ISA, "Floating Point Instructions".
  /// a / b within 2 ulp for 2^-126 <= |b| <= 2^126; 0 for a finite a and |b| > 2^126.
  static __device__ float divide(float a, float b) {
    float r;
    asm("div.approx.ftz.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    return r;
  }
  /// Relative error at most 2^-23.
  static __device__ float square_root(float a) {
    float r;
    asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
  }
  /// Within 2 ulp.
  static __device__ float exp2(float a) {
    float r;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
  }
  /// Absolute error at most 2^-22 for 1/2 < a < 2, else relative error at most 2^-22.
  static __device__ float log2(float a) {
    float r;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
  }
};

/// Shared memory with constant extents, one index per dimension.
template <class T, int... N> struct cuda_tile {
  T data[(N * ...)];

  template <class... I> __device__ T& operator()(I... i) { return data[offset(i...)]; }
  template <class... I> __device__ T const& operator()(I... i) const { return data[offset(i...)]; }
  template <class... I> __device__ T* from(I... i) { return data + offset(i...); }

 private:
  template <class... I> static __device__ int offset(I... i) {
    static_assert(sizeof...(I) == sizeof...(N), "one index per dimension");
    int at = 0;
    ((at = at * N + static_cast<int>(i)), ...);
    return at;
  }
};

/// Asynchronous copies into shared memory, first in first out. All threads copy and wait with equal arguments. After
/// wait() the data is visible to the waiting thread itself; the other threads see it after the next barrier of the
/// block.
template <int Stages, int Threads> struct cuda_pipe {
  /// Copies `count` elements; source, place and size are multiples of 16 bytes.
  template <class T> __device__ void copy_async(T* place, T const* source, int count) const {
    int const pieces = count * static_cast<int>(sizeof(T)) / 16;
    for (int k = static_cast<int>(threadIdx.x); k < pieces; k += Threads)
      __pipeline_memcpy_async(reinterpret_cast<char*>(place) + 16 * k, reinterpret_cast<char const*>(source) + 16 * k,
                              16);
    __pipeline_commit();
    ++outstanding;
  }
  __device__ void wait() const {
    // The younger copies stay in flight.
    if (outstanding >= Stages && Stages > 1) __pipeline_wait_prior(Stages - 1);
    else __pipeline_wait_prior(0);
    --outstanding;
  }
  mutable int outstanding = 0;
};

template <int Threads> struct cuda_block {
  static_assert(Threads % warp_lanes == 0, "a block is whole warps");
  template <class T, int... N> using tile = cuda_tile<T, N...>;
  template <int Stages> struct pipe_storage {};

  static constexpr MBIRK_HD int size() { return Threads; }
  __device__ int rank() const { return static_cast<int>(threadIdx.x); }
  __device__ int warp_rank() const { return static_cast<int>(threadIdx.x) / warp_lanes; }
  __device__ index3 index() const {
    return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)};
  }
  __device__ cuda_warp warp() const { return {}; }
  __device__ void sync() const { __syncthreads(); }
  __device__ void count(std::int32_t& place) const { atomicAdd(&place, 1); }
  template <int Stages> __device__ cuda_pipe<Stages, Threads> open(pipe_storage<Stages>&) const { return {}; }
};

}  // namespace mbirk::exec
