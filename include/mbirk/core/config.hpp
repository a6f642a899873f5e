// The only header that defines macros: host and device annotations, and attributes for the optimiser.
#pragma once

#if defined(__CUDACC__)
#define MBIRK_HD __host__ __device__
#else
#define MBIRK_HD
#endif

// Enclose kernels and formulas. These are compiled for host and device whatever their backend is, and nvcc would warn
// about every operation of a host backend that device code cannot call, although nobody launches it there.
#if defined(__NVCC__)
#define MBIRK_KERNELS_BEGIN _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 20011, 20014")
#define MBIRK_KERNELS_END _Pragma("nv_diagnostic pop")
#else
#define MBIRK_KERNELS_BEGIN
#define MBIRK_KERNELS_END
#endif

#if defined(__GNUC__)
// Pack operations and unrolled bodies must be inlined into their kernel at -O2 too: a call would spill every
// accumulator register. At -O0, kernels only take several times as long to compile with it; nvcc optimises device code
// at -O0 too.
#if defined(__OPTIMIZE__) || defined(__CUDACC__)
#define MBIRK_FLAT __attribute__((always_inline))  // for lambdas, behind the parameter list
#else
#define MBIRK_FLAT
#endif
#if defined(__CUDACC__)
#define MBIRK_INLINE inline MBIRK_FLAT __host__ __device__  // a lambda has __host__ __device__ of its function
// Device calls need a stack in memory, and array arguments would leave their registers, so nothing is outlined there.
#define MBIRK_NOINLINE __host__ __device__
#else
#define MBIRK_INLINE inline MBIRK_FLAT
#define MBIRK_NOINLINE __attribute__((noinline))
#endif
#define MBIRK_HOST_INLINE inline MBIRK_FLAT  // for functions that use host-only features
#define MBIRK_HOST_NOINLINE __attribute__((noinline))
#else
#error \
 "mbirk needs GNU C++ extensions (vector types): use g++ >= 12, clang++ >= 16 or nvcc with one of them as host compiler"
#endif

#if __cplusplus < 202002L
#error "mbirk needs C++20: compile with -std=c++20 or later"
#endif
