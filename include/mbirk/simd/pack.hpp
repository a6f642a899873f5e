// Packs of floats, ints and doubles in the vectors of the host, and the native backend that executes kernels on them.
#pragma once

#include <cstddef>
#include <type_traits>

#include "mbirk/core/index.hpp"
#include "mbirk/simd/backend.hpp"
#include "mbirk/simd/math.hpp"
#include "mbirk/simd/nvcc_pack.hpp"
#include "mbirk/simd/vector.hpp"

namespace mbirk::simd {
inline namespace MBIRK_VECTORS {

MBIRK_KERNELS_BEGIN
/// atan by two halvings of the angle, atan t = 2 atan(t / (1 + sqrt(1 + t^2))), and the series to t^19: error below
/// 1e-10 for every t, much lower within a fan beam. Uses only + - * / sqrt, so that counting backends count it.
template <class T> MBIRK_INLINE T atan_by_halving(T t) {
  auto const halve = [](T x) MBIRK_FLAT { return x / (T(1.0) + sqrt(fma(x, x, T(1.0)))); };
  T const x = halve(halve(t)), square = x * x;
  T sum = T(-1.0 / 23);
  for (int n = 21; n >= 1; n -= 2) sum = fma(sum, square, T((n % 4 == 1 ? 1.0 : -1.0) / n));
  return T(4.0) * (x * sum);
}
MBIRK_KERNELS_END

#if !defined(__CUDA_ARCH__)  // the device pass uses nvcc_pack.hpp

template <int L> struct ints {
  vector<std::int32_t, L> v;
  ints() = default;
  MBIRK_INLINE explicit ints(vector<std::int32_t, L> x) : v(x) {}
  MBIRK_INLINE explicit ints(std::int32_t x) : v(x - vector<std::int32_t, L>{}) {}

  friend MBIRK_HOST_INLINE ints operator+(ints a, ints b) {
    using U = vector<std::uint32_t, L>;  // wraps around: fixed-point words are unsigned
    return ints(vector<std::int32_t, L>(U(a.v) + U(b.v)));
  }
  friend MBIRK_HOST_INLINE ints operator*(ints a, ints b) {
    using U = vector<std::uint32_t, L>;
    return ints(vector<std::int32_t, L>(U(a.v) * U(b.v)));
  }
  friend MBIRK_HOST_INLINE ints operator&(ints a, ints b) { return ints(a.v & b.v); }
  friend MBIRK_HOST_INLINE ints rotate_left(ints a, int bits) {
    using U = vector<std::uint32_t, L>;
    return ints(vector<std::int32_t, L>((U(a.v) << bits) | (U(a.v) >> (32 - bits))));
  }
};

template <int L> struct mask {
  vector<std::int32_t, L> v;
  friend MBIRK_HOST_INLINE mask operator|(mask a, mask b) { return {a.v | b.v}; }
};

template <int L> struct floats {
  vector<float, L> v;
  floats() = default;
  MBIRK_INLINE explicit floats(vector<float, L> x) : v(x) {}
  // constant - {}, not {} + constant, which would turn -0 into +0.
  MBIRK_INLINE explicit floats(double constant) : v(static_cast<float>(constant) - vector<float, L>{}) {}

  friend MBIRK_HOST_INLINE floats operator+(floats a, floats b) { return floats(a.v + b.v); }
  friend MBIRK_HOST_INLINE floats operator-(floats a, floats b) { return floats(a.v - b.v); }
  friend MBIRK_HOST_INLINE floats operator*(floats a, floats b) { return floats(a.v * b.v); }
  friend MBIRK_HOST_INLINE floats operator/(floats a, floats b) { return floats(a.v / b.v); }
  friend MBIRK_HOST_INLINE mask<L> operator<(floats a, floats b) { return {a.v < b.v}; }
  friend MBIRK_HOST_INLINE floats fma(floats a, floats b, floats c) { return floats(detail::fma(a.v, b.v, c.v)); }
  /// c - a b
  friend MBIRK_HOST_INLINE floats fnma(floats a, floats b, floats c) { return floats(detail::fma(-a.v, b.v, c.v)); }
  friend MBIRK_HOST_INLINE floats max(floats a, floats b) { return floats(detail::max(a.v, b.v)); }
  friend MBIRK_HOST_INLINE floats min(floats a, floats b) { return floats(detail::min(a.v, b.v)); }
  friend MBIRK_HOST_INLINE floats sqrt(floats a) { return floats(detail::sqrt(a.v)); }
  friend MBIRK_HOST_INLINE floats abs(floats a) { return floats(detail::absolute(a.v)); }
  friend MBIRK_HOST_INLINE floats exp(floats a) { return floats(detail::exp<L>(a.v)); }
  friend MBIRK_HOST_INLINE floats exp2(floats a) { return floats(detail::exp2<L>(a.v)); }
  friend MBIRK_HOST_INLINE floats log2(floats a) { return floats(detail::log2<L>(a.v)); }  ///< for positive normal a
  friend MBIRK_HOST_INLINE mask<L> is_nan(floats a) { return {a.v != a.v}; }
  friend MBIRK_HOST_INLINE floats select(mask<L> c, floats a, floats b) { return floats(c.v ? a.v : b.v); }
  friend MBIRK_HOST_INLINE floats lookup(floats a, ints<L> index) { return floats(detail::lookup(a.v, index.v)); }
  friend MBIRK_HOST_INLINE floats lookup2(floats a, floats b, ints<L> index) {
    return floats(detail::lookup2(a.v, b.v, index.v));
  }
};

/// L doubles as two half packs, so that a pack of coordinates matches a pack of pixels.
template <int L> struct doubles {
  static constexpr int half = L / 2;
  using V = vector<double, half>;
  V lo, hi;
  doubles() = default;
  MBIRK_INLINE doubles(V a, V b) : lo(a), hi(b) {}
  MBIRK_INLINE explicit doubles(double constant) : lo(constant - V{}), hi(constant - V{}) {}

  friend MBIRK_HOST_INLINE doubles operator+(doubles a, doubles b) { return {a.lo + b.lo, a.hi + b.hi}; }
  friend MBIRK_HOST_INLINE doubles operator-(doubles a, doubles b) { return {a.lo - b.lo, a.hi - b.hi}; }
  friend MBIRK_HOST_INLINE doubles operator*(doubles a, doubles b) { return {a.lo * b.lo, a.hi * b.hi}; }
  friend MBIRK_HOST_INLINE doubles operator/(doubles a, doubles b) { return {a.lo / b.lo, a.hi / b.hi}; }
  friend MBIRK_HOST_INLINE doubles fma(doubles a, doubles b, doubles c) {
    return {detail::fma(a.lo, b.lo, c.lo), detail::fma(a.hi, b.hi, c.hi)};
  }
  friend MBIRK_HOST_INLINE doubles max(doubles a, doubles b) {
    return {detail::max(a.lo, b.lo), detail::max(a.hi, b.hi)};
  }
  friend MBIRK_HOST_INLINE doubles min(doubles a, doubles b) {
    return {detail::min(a.lo, b.lo), detail::min(a.hi, b.hi)};
  }
  friend MBIRK_HOST_INLINE doubles sqrt(doubles a) { return {detail::sqrt(a.lo), detail::sqrt(a.hi)}; }
  friend MBIRK_HOST_INLINE doubles floor(doubles a) { return {detail::floor(a.lo), detail::floor(a.hi)}; }
  friend MBIRK_HOST_INLINE doubles abs(doubles a) { return {detail::max(a.lo, -a.lo), detail::max(a.hi, -a.hi)}; }

  struct condition { vector<std::int64_t, half> lo, hi; };
  friend MBIRK_HOST_INLINE condition operator<(doubles a, doubles b) { return {a.lo < b.lo, a.hi < b.hi}; }
  friend MBIRK_HOST_INLINE doubles select(condition c, doubles a, doubles b) {
    return {c.lo ? a.lo : b.lo, c.hi ? a.hi : b.hi};
  }
};

namespace detail {

/// Concatenates two halves in registers: a load of a vector just written by two stores would wait for both.
template <class T, int Half> MBIRK_HOST_INLINE vector<T, 2 * Half> join(vector<T, Half> lo, vector<T, Half> hi) {
  using whole = vector<T, 2 * Half>;
#if defined(__AVX512F__)
  if constexpr (sizeof(whole) == 64)
    return whole(_mm512_maskz_insertf64x4(__mmask8(-1), _mm512_castpd256_pd512(__m256d(lo)), __m256d(hi), 1));
#endif
#if defined(__AVX__)
  if constexpr (sizeof(whole) == 32)
    return whole(_mm256_insertf128_pd(_mm256_castpd128_pd256(__m128d(lo)), __m128d(hi), 1));
#endif
  whole joined;
  __builtin_memcpy(&joined, &lo, sizeof lo);
  __builtin_memcpy(reinterpret_cast<char*>(&joined) + sizeof lo, &hi, sizeof hi);
  return joined;
}

/// Conversions from doubles to T (truncating for integers) and back.
template <class To, int L> MBIRK_HOST_INLINE vector<To, L> narrow(doubles<L> a) {
  return join<To, L / 2>(__builtin_convertvector(a.lo, vector<To, L / 2>),
                         __builtin_convertvector(a.hi, vector<To, L / 2>));
}
template <class From, int L> MBIRK_HOST_INLINE doubles<L> widen(vector<From, L> a) {
#if defined(__AVX512F__)
  constexpr auto all = __mmask8(-1);  // g++ 12 warns about uninitialised variables in the unmasked functions
  if constexpr (std::is_same_v<vector<From, L>, vector<std::int32_t, 16>>) {
    auto const half = [&](auto upper) MBIRK_FLAT {
      constexpr int part = upper();  // without optimisation, g++ only accepts a named constant as immediate
      return _mm512_maskz_extracti64x4_epi64(all, __m512i(a), part);
    };
    return {vector<double, 8>(_mm512_maskz_cvtepi32_pd(all, half(std::integral_constant<int, 0>{}))),
            vector<double, 8>(_mm512_maskz_cvtepi32_pd(all, half(std::integral_constant<int, 1>{})))};
  }
  if constexpr (std::is_same_v<vector<From, L>, vector<float, 16>>) {
    auto const half = [&](auto upper) MBIRK_FLAT {
      constexpr int part = upper();
      return __m256(_mm512_maskz_extractf64x4_pd(all, __m512d(a), part));
    };
    return {vector<double, 8>(_mm512_maskz_cvtps_pd(all, half(std::integral_constant<int, 0>{}))),
            vector<double, 8>(_mm512_maskz_cvtps_pd(all, half(std::integral_constant<int, 1>{})))};
  }
#endif
  vector<From, L / 2> lo, hi;
  __builtin_memcpy(&lo, &a, sizeof lo);
  __builtin_memcpy(&hi, reinterpret_cast<char const*>(&a) + sizeof lo, sizeof hi);
  return {__builtin_convertvector(lo, vector<double, L / 2>), __builtin_convertvector(hi, vector<double, L / 2>)};
}

}  // namespace detail

template <int L> MBIRK_HOST_INLINE doubles<L> atan(doubles<L> t) { return atan_by_halving(t); }

/// Executes kernels on the vectors of the host CPU. A cursor is a plain pointer.
template <int L> struct native : data_backend<native<L>, floats<L>, ints<L>, doubles<L>> {
  static constexpr int lanes = L;
  using pack = floats<L>;
  using ints = simd::ints<L>;
  using wide = doubles<L>;
  using sums = doubles<L>;

  static MBIRK_HOST_INLINE pack load(float const* p) { return pack(read<vector<float, L>>(p)); }
  static MBIRK_HOST_INLINE pack load_once(float const* p) { return pack(detail::hold(read<vector<float, L>>(p))); }
  static MBIRK_HOST_INLINE pack load_partial(float const* p, int n) {
    return pack(detail::load_partial<vector<float, L>>(p, n));
  }
  static MBIRK_HOST_INLINE ints load_ints(std::int32_t const* p) { return ints(read<vector<std::int32_t, L>>(p)); }
  static MBIRK_HOST_INLINE pack gather(float const* p, ints index) {
    return pack(detail::gather<vector<float, L>>(p, index.v));
  }
  static MBIRK_HOST_INLINE wide load_wide(double const* p) {
    return {read<typename wide::V>(p), read<typename wide::V>(p + L / 2)};
  }
  template <class T> static MBIRK_HOST_INLINE void store_value(T* p, T x) { *p = x; }

  static MBIRK_HOST_INLINE void store(float* p, pack a) { __builtin_memcpy(p, &a.v, sizeof a.v); }
  static MBIRK_HOST_INLINE void store_partial(float* p, pack a, int n) { detail::store_partial(p, a.v, n); }
  static MBIRK_HOST_INLINE void store(std::int32_t* p, ints a) { __builtin_memcpy(p, &a.v, sizeof a.v); }
  static MBIRK_HOST_INLINE void store(double* p, wide a) {
    __builtin_memcpy(p, &a.lo, sizeof a.lo);
    __builtin_memcpy(p + L / 2, &a.hi, sizeof a.hi);
  }

  static MBIRK_HOST_INLINE ints iota() {
    return [&]<int... I>(std::integer_sequence<int, I...>) MBIRK_FLAT {
      return ints(vector<std::int32_t, L>{I...});
    }(std::make_integer_sequence<int, L>{});
  }
  static MBIRK_HOST_INLINE pack first_lanes(index_t n) {
    pack a;
    for (int k = 0; k < L; ++k) a.v[k] = k < n ? 1.0f : 0.0f;
    return a;
  }

  static MBIRK_HOST_INLINE wide to_wide(ints a) { return detail::widen<std::int32_t, L>(a.v); }
  static MBIRK_HOST_INLINE wide to_wide(pack a) { return detail::widen<float, L>(a.v); }
  static MBIRK_HOST_INLINE ints to_ints(wide a) { return ints(detail::narrow<std::int32_t, L>(a)); }
  static MBIRK_HOST_INLINE ints to_ints(pack a) { return ints(__builtin_convertvector(a.v, vector<std::int32_t, L>)); }
  static MBIRK_HOST_INLINE pack to_pack(wide a) { return pack(detail::narrow<float, L>(a)); }
  static MBIRK_HOST_INLINE pack to_pack_unsigned(ints a) { return pack(detail::to_float_unsigned(a.v)); }

  template <int Step> static MBIRK_HOST_INLINE pack exchange(pack a) {
    return [&]<int... I>(std::integer_sequence<int, I...>) MBIRK_FLAT {
      return pack(detail::shuffle<(I ^ Step)...>(a.v, a.v));
    }(std::make_integer_sequence<int, L>{});
  }
  static MBIRK_HOST_INLINE float common(pack a) { return a.v[0]; }
  static MBIRK_HOST_INLINE void store_total(double* p, sums a) {
    double total = 0;
    for (int k = 0; k < L / 2; ++k) total += a.lo[k];
    for (int k = 0; k < L / 2; ++k) total += a.hi[k];
    *p = total;
  }
  template <class F> static MBIRK_HOST_INLINE void each_lane(pack a, pack other, int n, F const& f) {
    for (int k = 0; k < n; ++k) f(static_cast<float>(a.v[k]), static_cast<float>(other.v[k]));
  }
  static MBIRK_HOST_INLINE void count(std::int32_t* place, bool one) { *place += one; }

  /// Transposes a matrix of lanes x lanes elements in log2(lanes) rounds of interleaving.
  static MBIRK_HOST_INLINE void transpose(pack (&rows)[L]) {
    static_for<std::bit_width(static_cast<unsigned>(L)) - 1>([&](auto) MBIRK_FLAT {
      pack next[L];
      unrolled<L / 2>([&](auto k) MBIRK_FLAT {
        auto const [a, b] = detail::zip(rows[k].v, rows[k + L / 2].v);
        next[2 * k] = pack(a);
        next[2 * k + 1] = pack(b);
      });
      unrolled<L>([&](auto k) MBIRK_FLAT { rows[k] = next[k]; });
    });
  }

 private:
  template <class V, class T> static MBIRK_HOST_INLINE V read(T const* p) {
    V v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }
};

#endif

using native_backend = native<native_lanes>;
static_assert(pack_backend<native_backend>);

}  // namespace MBIRK_VECTORS
}  // namespace mbirk::simd
