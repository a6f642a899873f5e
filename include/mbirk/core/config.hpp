// The only header that defines macros: which side a function compiles for, and what the optimiser must do with it.
#pragma once

#if defined(__CUDACC__)
#define MBIRK_HD __host__ __device__
#else
#define MBIRK_HD
#endif

// Around kernels and formulas. They are compiled for both sides, whatever backend they are made with; nvcc would warn of every operation of a host's
// backend that a device lacks, although nobody launches it there.
#if defined(__NVCC__)
#define MBIRK_KERNELS_BEGIN _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 20011, 20014")
#define MBIRK_KERNELS_END _Pragma("nv_diagnostic pop")
#else
#define MBIRK_KERNELS_BEGIN
#define MBIRK_KERNELS_END
#endif

#if defined(__GNUC__)
// Pack operations and unrolled bodies must vanish into their kernel at -O2 too: a call would spill every register accumulator.
#if defined(__CUDACC__)
#define MBIRK_INLINE inline __attribute__((always_inline)) __host__ __device__
// On a device a call costs a stack in memory, and arrays that are passed to it leave their registers: there nothing is kept apart.
#define MBIRK_NOINLINE __host__ __device__
#else
#define MBIRK_INLINE inline __attribute__((always_inline))
#define MBIRK_NOINLINE __attribute__((noinline))
#endif
#define MBIRK_HOST_INLINE inline __attribute__((always_inline))  // what no device can do
#define MBIRK_HOST_NOINLINE __attribute__((noinline))
#define MBIRK_FLAT __attribute__((always_inline))  // behind the parameter list of a lambda, which is for the sides of the function around it
#else
#error "mbirk needs GNU C++ extensions (vector types): use g++ >= 12, clang++ >= 16 or nvcc with one of them as host compiler"
#endif

#if __cplusplus < 202002L
#error "mbirk needs C++20: compile with -std=c++20 or later"
#endif
