// The only header that defines macros: which side a function compiles for, and what the optimiser must do with it.
#pragma once

#if defined(__CUDACC__)
#define MBIRK_HD __host__ __device__
#else
#define MBIRK_HD
#endif

#if defined(__GNUC__)
// Pack operations and unrolled bodies must vanish into their kernel at -O2 too: a call would spill every register accumulator.
#define MBIRK_INLINE inline __attribute__((always_inline))
#define MBIRK_FLAT __attribute__((always_inline))  // the same, behind the parameter list of a lambda
#define MBIRK_NOINLINE __attribute__((noinline))
#else
#error "mbirk needs GNU C++ extensions (vector types): use g++ >= 12, clang++ >= 16 or nvcc with one of them as host compiler"
#endif

#if __cplusplus < 202002L
#error "mbirk needs C++20: compile with -std=c++20 or later"
#endif
