// Compiler vectors, and the operations that compilers do not derive from them. All intrinsics are in this file. The
// AVX-512 forms with a full mask avoid a false warning of g++ 12 about an undefined register; they compile to the plain
// instruction. Lanes: 16 with AVX-512, 8 with AVX, else 4. A lane loop (correct, slower) replaces operations that the
// instruction set lacks.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "mbirk/core/config.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE4_1__)
#include <smmintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>  // a tenth of immintrin.h
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace mbirk::simd {
inline namespace MBIRK_VECTORS {

#if defined(MBIRK_CALLS_DISPATCHED)
inline constexpr int native_lanes = 4;
#elif defined(__AVX512F__) && defined(__AVX512DQ__)
inline constexpr int native_lanes = 16;
#elif defined(__AVX__)
inline constexpr int native_lanes = 8;
#else
inline constexpr int native_lanes = 4;
#endif

}  // namespace MBIRK_VECTORS

template <class T, int N> struct vector_of { using type [[gnu::vector_size(sizeof(T) * N)]] = T; };
template <class T, int N> using vector = typename vector_of<T, N>::type;

template <int N> struct constant;
template <int N, class F> MBIRK_INLINE constexpr void static_for(F const& f);
template <int N, class F> MBIRK_INLINE constexpr void unrolled(F const& f);

/// std::integral_constant for host and device, because the conversion operator of the std one cannot be called there.
template <int N> struct constant {
  static constexpr int value = N, max_value = N;
  MBIRK_HD constexpr operator int() const noexcept { return N; }
  template <class F> MBIRK_INLINE constexpr void each(F const& f) const { unrolled<N>(f); }
};
/// Run-time number with a compile-time bound. Code written for it and for constants is compiled only once for it.
template <int Max> struct bounded {
  static constexpr int max_value = Max;
  int value;
  MBIRK_HD constexpr operator int() const noexcept { return value; }
  template <class F> MBIRK_INLINE constexpr void each(F const& f) const {
    for (int i = 0; i < value; ++i) f(i);
  }
};

/// Calls f(constant<0>), ..., f(constant<N - 1>), unrolled at any optimisation level, so that arrays indexed by the
/// argument live in registers.
template <int N, class F> MBIRK_INLINE constexpr void static_for(F const& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) MBIRK_FLAT {
    (f(constant<I>{}), ...);
  }(std::make_integer_sequence<int, N>{});
}

/// Calls f(0), ..., f(N - 1), unrolled like static_for, where no argument has to be a constant: f is compiled once.
template <int N, class F> MBIRK_INLINE constexpr void unrolled(F const& f) {
#if defined(__CUDACC__) || !defined(__OPTIMIZE__)
  static_for<N>(f);
#else
  MBIRK_UNROLL for (int i = 0; i < N; ++i) f(i);
#endif
}

inline namespace MBIRK_VECTORS {
namespace detail {

template <class V, class F> MBIRK_HOST_INLINE V per_lane(V a, F const& f) {
  constexpr int n = sizeof(V) / sizeof(a[0]);
  for (int k = 0; k < n; ++k) a[k] = f(k);
  return a;
}

template <class V> MBIRK_HOST_INLINE V fma(V a, V b, V c) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, vector<float, 16>>) return V(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
  if constexpr (std::is_same_v<V, vector<double, 8>>) return V(_mm512_fmadd_pd(__m512d(a), __m512d(b), __m512d(c)));
#endif
#if defined(__FMA__)
  if constexpr (std::is_same_v<V, vector<float, 8>>) return V(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
  if constexpr (std::is_same_v<V, vector<double, 4>>) return V(_mm256_fmadd_pd(__m256d(a), __m256d(b), __m256d(c)));
  if constexpr (std::is_same_v<V, vector<float, 4>>) return V(_mm_fmadd_ps(__m128(a), __m128(b), __m128(c)));
  if constexpr (std::is_same_v<V, vector<double, 2>>) return V(_mm_fmadd_pd(__m128d(a), __m128d(b), __m128d(c)));
#endif
#if defined(__aarch64__)
  if constexpr (std::is_same_v<V, vector<float, 4>>)
    return V(vfmaq_f32(float32x4_t(c), float32x4_t(a), float32x4_t(b)));
  if constexpr (std::is_same_v<V, vector<double, 2>>)
    return V(vfmaq_f64(float64x2_t(c), float64x2_t(a), float64x2_t(b)));
#endif
#if defined(__FMA__) || defined(__aarch64__)
  // Wider than the instructions: the halves, so that the result does not depend on the width of the hardware's vectors.
  if constexpr (sizeof(V) > 16) {
    using element = std::remove_cvref_t<decltype(a[0])>;
    using half = vector<element, sizeof(V) / sizeof(element) / 2>;
    for (std::size_t at = 0; at < sizeof(V); at += sizeof(half)) {  // copies of halves, which g++ keeps in registers
      half x, y, z;
      __builtin_memcpy(&x, reinterpret_cast<char const*>(&a) + at, sizeof x);
      __builtin_memcpy(&y, reinterpret_cast<char const*>(&b) + at, sizeof y);
      __builtin_memcpy(&z, reinterpret_cast<char const*>(&c) + at, sizeof z);
      x = fma(x, y, z);
      __builtin_memcpy(reinterpret_cast<char*>(&a) + at, &x, sizeof x);
    }
    return a;
  }
#endif
  return a * b + c;  // two roundings: no fused instruction available
}

template <class V> MBIRK_HOST_INLINE V max(V a, V b) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, vector<float, 16>>)
    return V(_mm512_maskz_max_ps(__mmask16(-1), __m512(a), __m512(b)));
  if constexpr (std::is_same_v<V, vector<double, 8>>)
    return V(_mm512_maskz_max_pd(__mmask8(-1), __m512d(a), __m512d(b)));
#endif
#if defined(__AVX__)
  if constexpr (std::is_same_v<V, vector<float, 8>>) return V(_mm256_max_ps(__m256(a), __m256(b)));
  if constexpr (std::is_same_v<V, vector<double, 4>>) return V(_mm256_max_pd(__m256d(a), __m256d(b)));
#endif
#if defined(__SSE2__)
  if constexpr (std::is_same_v<V, vector<float, 4>>) return V(_mm_max_ps(__m128(a), __m128(b)));
  if constexpr (std::is_same_v<V, vector<double, 2>>) return V(_mm_max_pd(__m128d(a), __m128d(b)));
#endif
  return a > b ? a : b;
}

template <class V> MBIRK_HOST_INLINE V min(V a, V b) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, vector<float, 16>>)
    return V(_mm512_maskz_min_ps(__mmask16(-1), __m512(a), __m512(b)));
  if constexpr (std::is_same_v<V, vector<double, 8>>)
    return V(_mm512_maskz_min_pd(__mmask8(-1), __m512d(a), __m512d(b)));
#endif
#if defined(__AVX__)
  if constexpr (std::is_same_v<V, vector<float, 8>>) return V(_mm256_min_ps(__m256(a), __m256(b)));
  if constexpr (std::is_same_v<V, vector<double, 4>>) return V(_mm256_min_pd(__m256d(a), __m256d(b)));
#endif
#if defined(__SSE2__)
  if constexpr (std::is_same_v<V, vector<float, 4>>) return V(_mm_min_ps(__m128(a), __m128(b)));
  if constexpr (std::is_same_v<V, vector<double, 2>>) return V(_mm_min_pd(__m128d(a), __m128d(b)));
#endif
  return a < b ? a : b;
}

template <class V> MBIRK_HOST_INLINE V absolute(V a) {
  using I = vector<std::int32_t, sizeof(V) / 4>;
  return std::bit_cast<V>(std::bit_cast<I>(a) & 0x7fffffff);
}

template <class V> MBIRK_HOST_INLINE V sqrt(V a) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, vector<float, 16>>) return V(_mm512_maskz_sqrt_ps(__mmask16(-1), __m512(a)));
  if constexpr (std::is_same_v<V, vector<double, 8>>) return V(_mm512_maskz_sqrt_pd(__mmask8(-1), __m512d(a)));
#endif
#if defined(__AVX__)
  if constexpr (std::is_same_v<V, vector<float, 8>>) return V(_mm256_sqrt_ps(__m256(a)));
  if constexpr (std::is_same_v<V, vector<double, 4>>) return V(_mm256_sqrt_pd(__m256d(a)));
#endif
#if defined(__SSE2__)
  if constexpr (std::is_same_v<V, vector<float, 4>>) return V(_mm_sqrt_ps(__m128(a)));
  if constexpr (std::is_same_v<V, vector<double, 2>>) return V(_mm_sqrt_pd(__m128d(a)));
#endif
#if defined(__aarch64__)
  if constexpr (std::is_same_v<V, vector<float, 4>>) return V(vsqrtq_f32(float32x4_t(a)));
  if constexpr (std::is_same_v<V, vector<double, 2>>) return V(vsqrtq_f64(float64x2_t(a)));
#endif
  return per_lane(a, [&](int k) MBIRK_FLAT { return std::sqrt(a[k]); });
}

template <class V> MBIRK_HOST_INLINE V floor(V a) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, vector<double, 8>>)
    return V(_mm512_maskz_roundscale_pd(__mmask8(-1), __m512d(a), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
#endif
#if defined(__AVX__)
  if constexpr (std::is_same_v<V, vector<double, 4>>) return V(_mm256_floor_pd(__m256d(a)));
#endif
#if defined(__SSE4_1__)
  if constexpr (std::is_same_v<V, vector<double, 2>>) return V(_mm_floor_pd(__m128d(a)));
#endif
  return per_lane(a, [&](int k) MBIRK_FLAT { return std::floor(a[k]); });
}

/// Keeps a loaded vector in its register; g++ would otherwise repeat the load as a memory operand of each use.
template <class V> MBIRK_HOST_INLINE V hold(V a) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) __asm__("" : "+v"(a));
#elif defined(__AVX__)
  if constexpr (sizeof(V) == 32) __asm__("" : "+x"(a));
#elif defined(__SSE2__)
  if constexpr (sizeof(V) == 16) __asm__("" : "+x"(a));
#elif defined(__aarch64__)
  if constexpr (sizeof(V) == 16) __asm__("" : "+w"(a));
#endif
  return a;
}

/// Converts integers, read as unsigned, to float. Without AVX-512 the last bit is dropped before the conversion: an
/// error of 1 in 2^32.
template <class I> MBIRK_HOST_INLINE auto to_float_unsigned(I a) {
  constexpr int n = sizeof(I) / 4;
  using F = vector<float, n>;
#if defined(__AVX512F__)
  if constexpr (n == 16) return F(_mm512_maskz_cvtepu32_ps(__mmask16(-1), __m512i(a)));
#endif
  using U = vector<std::uint32_t, n>;
  F const half = __builtin_convertvector(I(U(a) >> 1), F);
  return half + half;
}

/// Lane k is entry index[k] of (a, b) as one table of 2N entries; higher bits of the index are ignored.
template <class V, class I> MBIRK_HOST_INLINE V lookup2(V a, V b, I index) {
  constexpr int n = sizeof(V) / 4;
#if defined(__AVX512F__)
  if constexpr (n == 16) return V(_mm512_permutex2var_ps(__m512(a), __m512i(index), __m512(b)));
#endif
#if defined(__AVX2__)
  if constexpr (n == 8) {
    __m256i const i = __m256i(index);
    return V(_mm256_blendv_ps(_mm256_permutevar8x32_ps(__m256(a), i), _mm256_permutevar8x32_ps(__m256(b), i),
                              _mm256_castsi256_ps(_mm256_slli_epi32(i, 28))));
  }
#endif
#if defined(__aarch64__)
  if constexpr (n == 4) {
    uint8x16x2_t const table{{uint8x16_t(a), uint8x16_t(b)}};
    return V(vqtbl2q_u8(table, uint8x16_t((index & 7) * 0x04040404 + 0x03020100)));
  }
#endif
  float table[2 * n];
  __builtin_memcpy(table, &a, sizeof a);
  __builtin_memcpy(table + n, &b, sizeof b);
  return per_lane(a, [&](int k) MBIRK_FLAT { return table[index[k] & (2 * n - 1)]; });
}

/// Lane k is entry index[k] of a as a table of N entries; higher bits of the index are ignored.
template <class V, class I> MBIRK_HOST_INLINE V lookup(V a, I index) {
  constexpr int n = sizeof(V) / 4;
#if defined(__AVX512F__)
  // The unmasked form makes g++ 12 warn about its own header.
  if constexpr (n == 16) return V(_mm512_maskz_permutexvar_ps(static_cast<__mmask16>(-1), __m512i(index), __m512(a)));
#endif
#if defined(__AVX2__)
  if constexpr (n == 8) return V(_mm256_permutevar8x32_ps(__m256(a), __m256i(index)));
#endif
#if defined(__aarch64__)
  if constexpr (n == 4) return V(vqtbl1q_u8(uint8x16_t(a), uint8x16_t((index & 3) * 0x04040404 + 0x03020100)));
#endif
  float table[n];
  __builtin_memcpy(table, &a, sizeof a);
  return per_lane(a, [&](int k) MBIRK_FLAT { return table[index[k] & (n - 1)]; });
}

/// Loads the first n lanes; the others are 0.
template <class V, class T> MBIRK_HOST_INLINE V load_partial(T const* p, int n) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, vector<float, 16>>)
    return V(_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p));
#endif
  V v{};
  __builtin_memcpy(&v, p, static_cast<std::size_t>(n) * sizeof(T));
  return v;
}

template <class V, class T> MBIRK_HOST_INLINE void store_partial(T* p, V v, int n) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<V, vector<float, 16>>)
    return _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << n) - 1), __m512(v));
#endif
  __builtin_memcpy(p, &v, static_cast<std::size_t>(n) * sizeof(T));
}

template <class V, class I> MBIRK_HOST_INLINE V gather(float const* p, I index) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64)
    return V(_mm512_mask_i32gather_ps(_mm512_setzero_ps(), __mmask16(-1), __m512i(index), p, 4));
#endif
#if defined(__AVX2__)
  if constexpr (sizeof(V) == 32) return V(_mm256_i32gather_ps(p, __m256i(index), 4));
#endif
  return per_lane(V{}, [&](int k) MBIRK_FLAT { return p[index[k]]; });
}

/// Lanes I... of (a, b) as one table. Uses the g++ builtin, because nvcc's front end cannot expand a parameter pack in
/// the portable one.
template <int... I, class V> MBIRK_HOST_INLINE V shuffle(V a, V b) {
#if defined(__clang__)
  return __builtin_shufflevector(a, b, I...);
#else
  return __builtin_shuffle(a, b, vector<std::int32_t, sizeof...(I)>{I...});
#endif
}

/// Two vectors. Not a std::pair, about which g++ has notes on aarch64.
template <class V> struct two { V first, second; };

/// Interleaves two vectors to (a0, b0, a1, b1, ...); returns the first and second half.
template <class V> MBIRK_HOST_INLINE two<V> zip(V a, V b) {
  constexpr int n = sizeof(V) / 4;
  return [&]<int... I>(std::integer_sequence<int, I...>) MBIRK_FLAT {
    return two<V>{shuffle<(I % 2 ? n + I / 2 : I / 2)...>(a, b),
                  shuffle<(I % 2 ? n + (n + I) / 2 : (n + I) / 2)...>(a, b)};
  }(std::make_integer_sequence<int, n>{});
}

}  // namespace detail
}  // namespace MBIRK_VECTORS
}  // namespace mbirk::simd
