// exp, exp2 and log2 of a pack, to float32 accuracy (error below 2 ulp in their domains; measured in
// tests/kernel/math_test.cpp). Polynomials: least squares on Chebyshev nodes, relative error below 5e-9. No tables and
// no branches, so the cost is the same for all lanes.
#pragma once

#include <bit>
#include <cstdint>

#include "mbirk/simd/vector.hpp"

namespace mbirk::simd {
inline namespace MBIRK_VECTORS {
namespace detail {

template <int N, class V> MBIRK_HOST_INLINE V polynomial(V x, float const (&c)[N]) {
  V sum = c[N - 1] - V{};
  for (int k = N - 2; k >= 0; --k) sum = fma(sum, x, c[k] - V{});
  return sum;
}

/// Nearest whole number of x, |x| < 2^22, as float and as integer: the low bits of x + 1.5 * 2^23.
template <int L> struct nearest_whole {
  vector<float, L> real;
  vector<std::int32_t, L> whole;
  MBIRK_HOST_INLINE explicit nearest_whole(vector<float, L> x) {
    vector<float, L> const magic = 0x1.8p23f - vector<float, L>{}, moved = x + magic;
    real = moved - magic;
    whole = std::bit_cast<vector<std::int32_t, L>>(moved) - std::bit_cast<vector<std::int32_t, L>>(magic);
  }
};

/// e^r 2^n for |r| <= ln 2 / 2 and |n| <= 160. 2^n is applied in two factors, so that the result underflows to 0 and
/// overflows to infinity gradually.
template <int L> MBIRK_HOST_INLINE vector<float, L> scaled_exp(vector<float, L> r, vector<std::int32_t, L> n) {
  using F = vector<float, L>;
  static constexpr float c[] = {1.0f, 1.000000037954633f, 0.5000000108399092f, 0.16666414469487265f,
                                0.041666216472989105f, 0.00837521270648363f, 0.0013948700684255563f};
  auto const half = n >> 1, rest = n - half;
  return polynomial(r, c) * std::bit_cast<F>((half + 127) << 23) * std::bit_cast<F>((rest + 127) << 23);
}

/// e^x. NaN propagates, because max and min return their second operand if one is NaN.
template <int L> MBIRK_HOST_INLINE vector<float, L> exp(vector<float, L> x) {
  using F = vector<float, L>;
  x = max(-105.0f - F{}, min(89.0f - F{}, x));
  nearest_whole<L> const n(x * 1.44269504f);
    F r = fma(n.real, -0x1.62e4p-1f - F{}, x);  // ln 2 in two parts; n times the first is exact
  r = fma(n.real, -1.42860682e-6f - F{}, r);
  return scaled_exp<L>(r, n.whole);
}

/// 2^x.
template <int L> MBIRK_HOST_INLINE vector<float, L> exp2(vector<float, L> x) {
  using F = vector<float, L>;
  x = max(-150.0f - F{}, min(129.0f - F{}, x));
  nearest_whole<L> const n(x);
  return scaled_exp<L>((x - n.real) * 0.693147181f, n.whole);
}

/// log2(x) for positive normal x; unspecified otherwise.
template <int L> MBIRK_HOST_INLINE vector<float, L> log2(vector<float, L> x) {
  using F = vector<float, L>;
  using I = vector<std::int32_t, L>;
  static constexpr float c[] = {1.4426950409152568f, -0.7213473515646296f, 0.4808982126527625f,  -0.36069662871603525f,
                                0.2885688961110034f, -0.23961904434739265f, 0.20457529276080494f, -0.19102498189391462f,
                                0.18631209323274808f, -0.11020158985629677f};
  constexpr std::int32_t root_half = 0x3f3504f3;     // mantissa range [sqrt(1/2), sqrt(2))
  I const moved = std::bit_cast<I>(x) - root_half;
  I const exponent = moved >> 23;
  F const f = std::bit_cast<F>((moved & 0x7fffff) + root_half) - 1.0f;
  return fma(f, polynomial(f, c), __builtin_convertvector(exponent, F));
}

}  // namespace detail
}  // namespace MBIRK_VECTORS
}  // namespace mbirk::simd
