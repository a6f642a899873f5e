// Convolution along packs by FFT: each lane is a separate signal, so there are no shuffles. Forward transform by
// decimation in frequency (natural order in, permuted out), multiplication by a real spectrum in that order, inverse by
// decimation in time (permuted in, natural out): no reordering pass. The stages are templates over the number type, so
// that planning computes the spectrum with the same code in double.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "mbirk/simd/pack.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel::fourier {

using std::fma;
MBIRK_HD inline double fnma(double a, double b, double c) noexcept { return std::fma(-a, b, c); }

/// Complex number, or a pack of complex numbers.
template <class T> struct wave {
  T re, im;
  friend MBIRK_INLINE wave operator+(wave a, wave b) { return {a.re + b.re, a.im + b.im}; }
  friend MBIRK_INLINE wave operator-(wave a, wave b) { return {a.re - b.re, a.im - b.im}; }
};
/// a + Sign i b
template <int Sign, class T> MBIRK_INLINE wave<T> add_turned(wave<T> a, wave<T> b) {
  if constexpr (Sign > 0) return {a.re - b.im, a.im + b.re};
  else return {a.re + b.im, a.im - b.re};
}
/// a + c b, for a real c
template <class T>
MBIRK_INLINE wave<T> add_scaled(wave<T> a, T c, wave<T> b) { return {fma(c, b.re, a.re), fma(c, b.im, a.im)}; }
template <class T>
MBIRK_INLINE wave<T> subtract_scaled(wave<T> a, T c, wave<T> b) { return {fnma(c, b.re, a.re), fnma(c, b.im, a.im)}; }
/// a + Sign i c b
template <int Sign, class T> MBIRK_INLINE wave<T> add_turned_scaled(wave<T> a, T c, wave<T> b) {
  if constexpr (Sign > 0) return {fnma(c, b.im, a.re), fma(c, b.re, a.im)};
  else return {fma(c, b.im, a.re), fnma(c, b.re, a.im)};
}
template <class T>
MBIRK_INLINE wave<T> product(wave<T> a, wave<T> w) {
  return {fnma(a.im, w.im, a.re * w.re), fma(a.re, w.im, a.im * w.re)};
}
template <class T> MBIRK_INLINE wave<T> conjugate_product(wave<T> a, wave<T> w) {
  return {fma(a.im, w.im, a.re * w.re), fnma(a.re, w.im, a.im * w.re)};
}

/// Small DFTs, sum over j of z_j e^(Sign 2 pi i j k / N), natural order in and out.
template <int Sign, class T> MBIRK_INLINE void transform_3(wave<T>& a, wave<T>& b, wave<T>& c) {
  auto const sum = b + c, difference = b - c, middle = add_scaled(a, T(-0.5), sum);
  a = a + sum;
  b = add_turned_scaled<Sign>(middle, T(0.5 * std::numbers::sqrt3), difference);
  c = add_turned_scaled<-Sign>(middle, T(0.5 * std::numbers::sqrt3), difference);
}
template <int Sign, class T> MBIRK_INLINE void transform_4(wave<T>& a, wave<T>& b, wave<T>& c, wave<T>& d) {
  auto const p = a + c, q = a - c, r = b + d, s = b - d;
  a = p + r;
  c = p - r;
  b = add_turned<Sign>(q, s);
  d = add_turned<-Sign>(q, s);
}

/// Forward butterfly. Half: the upper half of z is zero and need not be set. For N = 6, frequency 2 k
/// is at k and frequency 3 + 2 k at k + 3.
template <int N, bool Half, class T> MBIRK_INLINE void split(wave<T> (&z)[N]) {
  if constexpr (N == 4) {
    if constexpr (Half) {
      auto const a = z[0], b = z[1];
      z[0] = a + b;
      z[2] = a - b;
      z[1] = add_turned<-1>(a, b);
      z[3] = add_turned<1>(a, b);
    } else transform_4<-1>(z[0], z[1], z[2], z[3]);
  } else if constexpr (N == 8) {
    T const c = T(0.5 * std::numbers::sqrt2);
    wave<T> u[4], v[4];
    simd::unrolled<4>([&](auto j) MBIRK_FLAT {
      if constexpr (Half) u[j] = v[j] = z[j];
      else {
        u[j] = z[j] + z[j + 4];
        v[j] = z[j] - z[j + 4];
      }
    });
    transform_4<-1>(u[0], u[1], u[2], u[3]);
    // Times c, p is v[1] turned by one eighth, and q is v[3] turned by three eighths less a quarter.
    auto const p = add_turned<-1>(v[1], v[1]), q = add_turned<-1>(v[3], v[3]);
    auto const a = add_turned<-1>(v[0], v[2]), b = add_turned<1>(v[0], v[2]), d = add_turned<-1>(p, q),
        e = add_turned<1>(p, q);
    simd::unrolled<4>([&](auto j) MBIRK_FLAT { z[2 * j] = u[j]; });
    z[1] = add_scaled(a, c, d);
    z[5] = subtract_scaled(a, c, d);
    z[3] = add_turned_scaled<-1>(b, c, e);
    z[7] = add_turned_scaled<1>(b, c, e);
  } else {
    static_assert(N == 6 && !Half);
    wave<T> u[3] = {z[0] + z[3], z[1] + z[4], z[2] + z[5]}, v[3] = {z[0] - z[3], z[4] - z[1], z[2] - z[5]};
    transform_3<-1>(u[0], u[1], u[2]);
    transform_3<-1>(v[0], v[1], v[2]);
    simd::unrolled<3>([&](auto j) MBIRK_FLAT {
      z[j] = u[j];
      z[j + 3] = v[j];
    });
  }
}

/// Inverse butterfly, unscaled. Half: only the lower half of the result is needed.
template <int N, bool Half, class T> MBIRK_INLINE void join(wave<T> (&z)[N]) {
  if constexpr (N == 4) {
    auto const p = z[0] + z[2], q = z[0] - z[2], r = z[1] + z[3], s = z[1] - z[3];
    z[0] = p + r;
    z[1] = add_turned<1>(q, s);
    if constexpr (!Half) {
      z[2] = p - r;
      z[3] = add_turned<-1>(q, s);
    }
  } else if constexpr (N == 8) {
    T const c = T(0.5 * std::numbers::sqrt2);
    wave<T> u[4], v[4];
    simd::unrolled<4>([&](auto j) MBIRK_FLAT {
      u[j] = z[2 * j];
      v[j] = z[2 * j + 1];
    });
    transform_4<1>(u[0], u[1], u[2], u[3]);
    transform_4<1>(v[0], v[1], v[2], v[3]);
    auto const p = add_turned<1>(v[1], v[1]), q = add_turned<1>(v[3], v[3]);
    z[0] = u[0] + v[0];
    z[1] = add_scaled(u[1], c, p);
    z[2] = add_turned<1>(u[2], v[2]);
    z[3] = add_turned_scaled<1>(u[3], c, q);
    if constexpr (!Half) {
      z[4] = u[0] - v[0];
      z[5] = subtract_scaled(u[1], c, p);
      z[6] = add_turned<-1>(u[2], v[2]);
      z[7] = add_turned_scaled<-1>(u[3], c, q);
    }
  } else {
    static_assert(N == 6 && !Half);
    wave<T> u[3] = {z[0], z[1], z[2]}, v[3] = {z[3], z[4], z[5]};
    transform_3<1>(u[0], u[1], u[2]);
    transform_3<1>(v[0], v[1], v[2]);
    z[0] = u[0] + v[0];
    z[3] = u[0] - v[0];
    z[2] = u[2] + v[2];
    z[5] = u[2] - v[2];
    z[4] = u[1] + v[1];
    z[1] = u[1] - v[1];
  }
}

/// divide splits a block of Radix * step numbers at `at` into Radix blocks, which are then transformed independently;
/// unite is its inverse. Waves: load, store and twiddle, indexed from the beginning. twiddles: offset of the twiddles
/// of this stage, [step][Radix - 1].
template <int Radix, bool Half, class Waves>
MBIRK_INLINE void divide(Waves const& waves, index_t at, index_t step, index_t twiddles) {
  for (index_t n = 0; n < step; ++n) {
    typename Waves::value z[Radix];
    simd::unrolled<Half ? Radix / 2 : Radix>([&](auto j) MBIRK_FLAT { z[j] = waves.load(at + n + j * step); });
    split<Radix, Half>(z);
    waves.store(at + n, z[0]);
    simd::unrolled<Radix - 1>([&](auto j) MBIRK_FLAT {
      waves.store(at + n + (j + 1) * step, product(z[j + 1], waves.twiddle(twiddles + n * (Radix - 1) + j)));
    });
  }
}
template <int Radix, bool Half, class Waves>
MBIRK_INLINE void unite(Waves const& waves, index_t at, index_t step, index_t twiddles) {
  for (index_t n = 0; n < step; ++n) {
    typename Waves::value z[Radix];
    z[0] = waves.load(at + n);
    simd::unrolled<Radix - 1>([&](auto j) MBIRK_FLAT {
      z[j + 1] = conjugate_product(waves.load(at + n + (j + 1) * step), waves.twiddle(twiddles + n * (Radix - 1) + j));
    });
    join<Radix, Half>(z);
    simd::unrolled<Half ? Radix / 2 : Radix>([&](auto j) MBIRK_FLAT { waves.store(at + n + j * step, z[j]); });
  }
}

/// Factorisation of a length: by radix[0], radix[1], ... into leaves, which leaf_radix divides into blocks of `inner`
/// numbers, with the fewest stages of radix 4 and 8.
struct plan {
  static constexpr int most_stages = 24;
  static constexpr index_t shortest = 96;
  index_t length = 0;
  int inner = 0, leaf_radix = 0, stages = 0;
  int radix[most_stages] = {};
  // Size of a block before the stage divides it, and offset of the stage's twiddles.
  index_t size[most_stages] = {}, twiddles[most_stages] = {};
  index_t leaf_twiddles = 0, all_twiddles = 0;

  MBIRK_HD index_t leaf() const noexcept { return index_t{leaf_radix} * inner; }
};

/// Zero-padded length without wrap-around: the least 2^k or 3 2^k that is >= 2 channels - 1 (and >= plan::shortest).
inline index_t length_of(index_t channels) {
  index_t length = plan::shortest;  // 3 2^5, then 2^7, 3 2^6, 2^8, ...
  for (bool third = true; length < 2 * channels - 1; third = !third) length = third ? length / 3 * 4 : length / 2 * 3;
  return length;
}

inline plan make_plan(index_t channels) {
  plan p;
  p.length = length_of(channels);
  p.inner = p.length % 3 == 0 ? 6 : 8;
  p.leaf_radix = std::countr_zero(static_cast<std::uint64_t>(p.length / p.inner)) % 3 == 0 ? 8 : 4;
  for (index_t size = p.length; size > p.leaf(); size /= p.radix[p.stages++]) {
    int const radix = size / p.leaf() == 4 ? 4 : 8;
    p.radix[p.stages] = radix;
    p.size[p.stages] = size;
    p.twiddles[p.stages] = p.all_twiddles;
    p.all_twiddles += size / radix * (radix - 1);
  }
  p.leaf_twiddles = p.all_twiddles;
  p.all_twiddles += static_cast<index_t>(p.inner) * (p.leaf_radix - 1);
  return p;
}

/// e^(-2 pi i j n / size) for n < size / radix, 1 <= j < radix, for all stages.
inline std::vector<wave<double>> make_twiddles(plan const& p) {
  std::vector<wave<double>> all;
  auto const add = [&](index_t size, index_t radix) {
    for (index_t n = 0; n < size / radix; ++n)
      for (index_t j = 1; j < radix; ++j) {
        double const angle = -2 * std::numbers::pi * static_cast<double>(j * n) / static_cast<double>(size);
        all.push_back({std::cos(angle), std::sin(angle)});
      }
  };
  for (int s = 0; s < p.stages; ++s) add(p.size[s], p.radix[s]);
  add(p.leaf(), p.leaf_radix);
  return all;
}

/// Storage of the stages in double.
struct plain_waves {
  using value = wave<double>;
  value* at;
  value const* twiddles;
  value load(index_t n) const { return at[n]; }
  void store(index_t n, value z) const { at[n] = z; }
  value twiddle(index_t k) const { return twiddles[k]; }
};

/// Spectrum, in the order of the stages, of a circular filter of the full length whose taps at distances 0, 1, ... are
/// given, divided by the length. Real, because the taps are symmetric.
inline std::vector<float> make_spectrum(plan const& p, std::vector<double> const& taps,
                                        std::vector<wave<double>> const& twiddles) {
  std::vector<wave<double>> circle(static_cast<std::size_t>(p.length), wave<double>{0, 0});
  for (std::size_t d = 0; d < taps.size(); ++d)
    circle[d].re = circle[d == 0 ? 0 : circle.size() - d].re = taps[d] / static_cast<double>(p.length);
  plain_waves const waves{circle.data(), twiddles.data()};
  auto const stage = [&](index_t size, int radix, index_t begin) {
    for (index_t at = 0; at < p.length; at += size) {
      if (radix == 8) divide<8, false>(waves, at, size / 8, begin);
      else divide<4, false>(waves, at, size / 4, begin);
    }
  };
  for (int s = 0; s < p.stages; ++s) stage(p.size[s], p.radix[s], p.twiddles[s]);
  stage(p.leaf(), p.leaf_radix, p.leaf_twiddles);
  auto const finish = [&](auto inner) {
    for (index_t at = 0; at < p.length; at += inner) {
      wave<double> z[inner];
      for (int k = 0; k < inner; ++k) z[k] = waves.load(at + k);
      split<inner, false>(z);
      for (int k = 0; k < inner; ++k) waves.store(at + k, z[k]);
    }
  };
  if (p.inner == 6) finish(simd::constant<6>{});
  else finish(simd::constant<8>{});
  std::vector<float> real;
  for (auto const& z : circle) real.push_back(static_cast<float>(z.re));
  return real;
}

/// Storage of the stages as packs: a number is a pack of real parts and a pack of imaginary parts.
template <class B> struct packed_waves {
  using value = wave<typename B::pack>;
  typename B::template cursor<float> at;
  typename B::template cursor<float const> twiddles, spectrum;

  MBIRK_INLINE value load(index_t n) const {
    return {B::load_once(at + 2 * n * B::lanes), B::load_once(at + (2 * n + 1) * B::lanes)};
  }
  MBIRK_INLINE void store(index_t n, value z) const {
    B::store(at + 2 * n * B::lanes, z.re);
    B::store(at + (2 * n + 1) * B::lanes, z.im);
  }
  MBIRK_INLINE value twiddle(index_t k) const {
    return {B::load_broadcast(twiddles + 2 * k), B::load_broadcast(twiddles + (2 * k + 1))};
  }
};

template <int Radix, bool First, class B>
MBIRK_NOINLINE void divide_packs(packed_waves<B> waves, index_t at, index_t step, index_t twiddles) {
  divide<Radix, First>(waves, at, step, twiddles);
}
template <int Radix, bool First, class B>
MBIRK_NOINLINE void unite_packs(packed_waves<B> waves, index_t at, index_t step, index_t twiddles) {
  unite<Radix, First>(waves, at, step, twiddles);
}
/// Divides a leaf, filters its blocks and unites them again.
template <int Radix, int Inner, class B>
MBIRK_NOINLINE void filter_leaf(packed_waves<B> waves, index_t at, index_t twiddles) {
  divide<Radix, false>(waves, at, Inner, twiddles);
  for (index_t block = at; block < at + Radix * Inner; block += Inner) {
    typename packed_waves<B>::value z[Inner];
    simd::unrolled<Inner>([&](auto k) MBIRK_FLAT { z[k] = waves.load(block + k); });
    split<Inner, false>(z);
    simd::unrolled<Inner>([&](auto k) MBIRK_FLAT {
      auto const factor = B::load_broadcast(waves.spectrum + (block + k));
      z[k] = {z[k].re * factor, z[k].im * factor};
    });
    join<Inner, false>(z);
    simd::unrolled<Inner>([&](auto k) MBIRK_FLAT { waves.store(block + k, z[k]); });
  }
  unite<Radix, false>(waves, at, Inner, twiddles);
}

/// Convolves signals whose elements from length / 2 on are zero (and need not be set); computes the results up to
/// length / 2. A block is completed before the next one of its size begins, so that small blocks stay cached.
template <class B> MBIRK_INLINE void convolve(plan const& p, packed_waves<B> const& waves) {
  for (index_t at = 0; at < p.length; at += p.leaf()) {
    for (int s = 0; s < p.stages; ++s) {
      if (at % p.size[s] != 0) continue;
      if (p.radix[s] == 8) {
        if (s == 0) divide_packs<8, true>(waves, at, p.size[s] / 8, p.twiddles[s]);
        else divide_packs<8, false>(waves, at, p.size[s] / 8, p.twiddles[s]);
      } else {
        if (s == 0) divide_packs<4, true>(waves, at, p.size[s] / 4, p.twiddles[s]);
        else divide_packs<4, false>(waves, at, p.size[s] / 4, p.twiddles[s]);
      }
    }
    if (p.leaf_radix == 8)
      p.inner == 6 ? filter_leaf<8, 6>(waves, at, p.leaf_twiddles) : filter_leaf<8, 8>(waves, at, p.leaf_twiddles);
    else p.inner == 6 ? filter_leaf<4, 6>(waves, at, p.leaf_twiddles) : filter_leaf<4, 8>(waves, at, p.leaf_twiddles);
    index_t const end = at + p.leaf();
    for (int s = p.stages - 1; s >= 0 && end % p.size[s] == 0; --s) {
      index_t const begin = end - p.size[s];
      if (p.radix[s] == 8) {
        if (s == 0) unite_packs<8, true>(waves, begin, p.size[s] / 8, p.twiddles[s]);
        else unite_packs<8, false>(waves, begin, p.size[s] / 8, p.twiddles[s]);
      } else {
        if (s == 0) unite_packs<4, true>(waves, begin, p.size[s] / 4, p.twiddles[s]);
        else unite_packs<4, false>(waves, begin, p.size[s] / 4, p.twiddles[s]);
      }
    }
  }
}

}  // namespace mbirk::kernel::fourier

MBIRK_KERNELS_END
