// The only header that defines macros: host and device annotations, attributes for the optimiser, names of vectors.
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
#if defined(__clang__)
#define MBIRK_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MBIRK_UNROLL _Pragma("GCC unroll 16")
#endif
#if defined(__CUDA_ARCH__)
#define MBIRK_KEEP_LOOP _Pragma("unroll 1")  // copies of the body would cost registers
#else
#define MBIRK_KEEP_LOOP
#endif
#define MBIRK_COLD __attribute__((noinline, cold))  // code of errors, which is compiled for size
#else
#error \
 "mbirk needs GNU C++ extensions (vector types): use g++ >= 12, clang++ >= 16 or nvcc with one of them as host compiler"
#endif

// The inline namespace of everything whose meaning depends on the vectors that this translation unit is compiled for.
// Parts of a program that are compiled for different vectors then have different kernels, which the linker cannot
// confuse.
#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define MBIRK_VECTORS avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define MBIRK_VECTORS avx2
#elif defined(__AVX__) && defined(__FMA__)
#define MBIRK_VECTORS avx_fma
#elif defined(__AVX__)
#define MBIRK_VECTORS avx
#elif defined(__SSE4_1__)
#define MBIRK_VECTORS sse4
#elif defined(__SSE2__)
#define MBIRK_VECTORS sse2
#elif defined(__ARM_NEON)
#define MBIRK_VECTORS neon
#else
#define MBIRK_VECTORS plain
#endif

// In programs that link an mbirk::compiled with kernels for several instruction sets, exec::host means those kernels,
// whatever the program itself is compiled for. What the library does not hold is compiled for four lanes there, so that
// all parts of the program agree. MBIRK_INSTRUCTION_SET is defined only while the kernels of one set are compiled.
#if defined(MBIRK_DISPATCHED)
#define MBIRK_HOST_VECTORS dispatched
#if !defined(MBIRK_INSTRUCTION_SET)
#define MBIRK_CALLS_DISPATCHED 1
#endif
#else
#define MBIRK_HOST_VECTORS MBIRK_VECTORS
#endif

#if __cplusplus < 202002L
#error "mbirk needs C++20: compile with -std=c++20 or later"
#endif
