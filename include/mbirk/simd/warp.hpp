// A warp as a pack of 32 lanes: the backend that executes the pack kernels on a device and under emulation. A pack is
// one element per thread; everything else is uniform across the warp. Loads and stores have no barrier, so that they
// overlap: a kernel in which one lane reads what another has stored calls order_lanes (simd/lanes.hpp) in between.
#pragma once

#include <cmath>
#include <cstdint>

#include "mbirk/exec/block.hpp"
#include "mbirk/simd/pack.hpp"

namespace mbirk::simd {

/// Pack elements on a warp. W has static members lane(), shfl(x, lane), shfl_xor(x, mask), sum(x), ballot(c), match(i),
/// sync(), assume_global(p), count(place, times), an atomic addition, and of floats larger(a, b) and smaller(a, b),
/// whose result for a NaN is either operand, and saturated_fma(a, b, c); each of these three is one instruction. Its
/// functions divide, square_root, exp2 and log2 of floats are the device's approximations (docs/devices.md has their
/// bounds); sums, products and everything in double are rounded correctly.
template <class W> struct warp_ints {
  std::int32_t v;
  friend MBIRK_INLINE warp_ints operator+(warp_ints a, warp_ints b) { return {wrap(word(a) + word(b))}; }
  friend MBIRK_INLINE warp_ints operator*(warp_ints a, warp_ints b) { return {wrap(word(a) * word(b))}; }
  friend MBIRK_INLINE warp_ints operator&(warp_ints a, warp_ints b) { return {a.v & b.v}; }
  friend MBIRK_INLINE warp_ints rotate_left(warp_ints a, int bits) {
    return {wrap((word(a) << bits) | (word(a) >> (32 - bits)))};
  }

 private:
  static MBIRK_INLINE std::uint32_t word(warp_ints a) { return static_cast<std::uint32_t>(a.v); }
  static MBIRK_INLINE std::int32_t wrap(std::uint32_t x) { return static_cast<std::int32_t>(x); }
};

struct warp_mask {
  bool v;
  friend MBIRK_INLINE warp_mask operator|(warp_mask a, warp_mask b) { return {a.v || b.v}; }
};

template <class W> struct warp_floats {
  float v = 0;  // a dead store; without it g++ warns of uninitialised use, as it cannot see through fiber switches
  warp_floats() = default;
  MBIRK_INLINE explicit warp_floats(float x) : v(x) {}
  MBIRK_INLINE explicit warp_floats(double constant) : v(static_cast<float>(constant)) {}

  friend MBIRK_INLINE warp_floats operator+(warp_floats a, warp_floats b) { return warp_floats(a.v + b.v); }
  friend MBIRK_INLINE warp_floats operator-(warp_floats a, warp_floats b) { return warp_floats(a.v - b.v); }
  friend MBIRK_INLINE warp_floats operator*(warp_floats a, warp_floats b) { return warp_floats(a.v * b.v); }
  friend MBIRK_INLINE warp_floats operator/(warp_floats a, warp_floats b) { return warp_floats(W::divide(a.v, b.v)); }
  friend MBIRK_INLINE warp_mask operator<(warp_floats a, warp_floats b) { return {a.v < b.v}; }
  friend MBIRK_INLINE warp_floats fma(warp_floats a, warp_floats b, warp_floats c) {
    return warp_floats(std::fma(a.v, b.v, c.v));
  }
  friend MBIRK_INLINE warp_floats fnma(warp_floats a, warp_floats b, warp_floats c) {
    return warp_floats(std::fma(-a.v, b.v, c.v));
  }
  // If an operand is NaN, max and min return the second operand, as the vector instructions of the host do.
  friend MBIRK_INLINE warp_floats max(warp_floats a, warp_floats b) { return warp_floats(a.v > b.v ? a.v : b.v); }
  friend MBIRK_INLINE warp_floats min(warp_floats a, warp_floats b) { return warp_floats(a.v < b.v ? a.v : b.v); }
  /// One instruction instead of two. Of a number and a NaN, either; of zeros with both signs, either.
  friend MBIRK_INLINE warp_floats max_number(warp_floats a, warp_floats b) {
    return warp_floats(W::larger(a.v, b.v));
  }
  friend MBIRK_INLINE warp_floats min_number(warp_floats a, warp_floats b) {
    return warp_floats(W::smaller(a.v, b.v));
  }
  /// a b + c, rounded once, but at least 0 and at most 1; 0 for a NaN.
  friend MBIRK_INLINE warp_floats saturated_fma(warp_floats a, warp_floats b, warp_floats c) {
    return warp_floats(W::saturated_fma(a.v, b.v, c.v));
  }
  friend MBIRK_INLINE warp_floats sqrt(warp_floats a) { return warp_floats(W::square_root(a.v)); }
  friend MBIRK_INLINE warp_floats abs(warp_floats a) { return warp_floats(std::fabs(a.v)); }
  friend MBIRK_INLINE warp_floats exp(warp_floats a) { return warp_floats(std::exp(a.v)); }
  friend MBIRK_INLINE warp_floats exp2(warp_floats a) { return warp_floats(W::exp2(a.v)); }
  friend MBIRK_INLINE warp_floats log2(warp_floats a) { return warp_floats(W::log2(a.v)); }
  friend MBIRK_INLINE warp_mask is_nan(warp_floats a) { return {a.v != a.v}; }
  friend MBIRK_INLINE warp_floats select(warp_mask c, warp_floats a, warp_floats b) {
    return warp_floats(c.v ? a.v : b.v);
  }
  /// Entry `index` of the 32 lanes of a; only the low five bits of the index are used.
  friend MBIRK_INLINE warp_floats lookup(warp_floats a, warp_ints<W> index) {
    return warp_floats(W::shfl(a.v, index.v & 31));
  }
  /// Entry `index` of the 64 lanes of a and b; only the low six bits of the index are used.
  friend MBIRK_INLINE warp_floats lookup2(warp_floats a, warp_floats b, warp_ints<W> index) {
    int const from = index.v & 31;
    float const low = W::shfl(a.v, from), high = W::shfl(b.v, from);
    return warp_floats(index.v & 32 ? high : low);
  }
};

template <class W> struct warp_doubles {
  double v = 0;
  warp_doubles() = default;
  MBIRK_INLINE explicit warp_doubles(double x) : v(x) {}

  friend MBIRK_INLINE warp_doubles operator+(warp_doubles a, warp_doubles b) { return warp_doubles(a.v + b.v); }
  friend MBIRK_INLINE warp_doubles operator-(warp_doubles a, warp_doubles b) { return warp_doubles(a.v - b.v); }
  friend MBIRK_INLINE warp_doubles operator*(warp_doubles a, warp_doubles b) { return warp_doubles(a.v * b.v); }
  friend MBIRK_INLINE warp_doubles operator/(warp_doubles a, warp_doubles b) { return warp_doubles(a.v / b.v); }
  friend MBIRK_INLINE warp_doubles fma(warp_doubles a, warp_doubles b, warp_doubles c) {
    return warp_doubles(std::fma(a.v, b.v, c.v));
  }
  friend MBIRK_INLINE warp_doubles max(warp_doubles a, warp_doubles b) { return warp_doubles(a.v > b.v ? a.v : b.v); }
  friend MBIRK_INLINE warp_doubles min(warp_doubles a, warp_doubles b) { return warp_doubles(a.v < b.v ? a.v : b.v); }
  friend MBIRK_INLINE warp_doubles sqrt(warp_doubles a) { return warp_doubles(std::sqrt(a.v)); }
  friend MBIRK_INLINE warp_doubles floor(warp_doubles a) { return warp_doubles(std::floor(a.v)); }
  friend MBIRK_INLINE warp_doubles abs(warp_doubles a) { return warp_doubles(std::fabs(a.v)); }
  friend MBIRK_INLINE warp_doubles atan(warp_doubles a) { return atan_by_halving(a); }

  struct condition { bool v; };
  friend MBIRK_INLINE condition operator<(warp_doubles a, warp_doubles b) { return {a.v < b.v}; }
  friend MBIRK_INLINE warp_doubles select(condition c, warp_doubles a, warp_doubles b) {
    return warp_doubles(c.v ? a.v : b.v);
  }
};

/// The packs of a kernel on a warp. A cursor is a plain pointer to memory that all lanes can access. Loads are not of
/// the read-only kind (ld.global.nc), because kernels also load what they have stored.
template <class W> struct warp_backend : data_backend<warp_backend<W>, warp_floats<W>, warp_ints<W>, warp_doubles<W>> {
  static constexpr bool emulated = requires { requires W::emulated; };
  static constexpr int lanes = warp_lanes;
  using pack = warp_floats<W>;
  using ints = warp_ints<W>;
  using wide = warp_doubles<W>;
  using sums = warp_doubles<W>;

  static MBIRK_INLINE pack load(float const* p) { return pack(p[W::lane()]); }
  static MBIRK_INLINE pack load_once(float const* p) { return load(p); }
  static MBIRK_INLINE pack load_partial(float const* p, int n) { return pack(W::lane() < n ? p[W::lane()] : 0.0f); }
  static MBIRK_INLINE ints load_ints(std::int32_t const* p) { return {p[W::lane()]}; }
  static MBIRK_INLINE pack gather(float const* p, ints index) { return pack(p[index.v]); }
  static MBIRK_INLINE wide load_wide(double const* p) { return wide(p[W::lane()]); }
  template <class T> static MBIRK_INLINE void store_value(T* p, T x) { put(p, x, W::lane() == 0); }

  static MBIRK_INLINE void store(float* p, pack a) { put(p + W::lane(), a.v, true); }
  static MBIRK_INLINE void store_partial(float* p, pack a, int n) { put(p + W::lane(), a.v, W::lane() < n); }
  static MBIRK_INLINE void store(std::int32_t* p, ints a) { put(p + W::lane(), a.v, true); }
  static MBIRK_INLINE void store(double* p, wide a) { put(p + W::lane(), a.v, true); }

  static MBIRK_INLINE ints iota() { return {W::lane()}; }
  static MBIRK_INLINE pack first_lanes(index_t n) { return pack(W::lane() < n ? 1.0f : 0.0f); }

  static MBIRK_INLINE wide to_wide(ints a) { return wide(static_cast<double>(a.v)); }
  static MBIRK_INLINE wide to_wide(pack a) { return wide(static_cast<double>(a.v)); }
  static MBIRK_INLINE ints to_ints(wide a) { return {static_cast<std::int32_t>(a.v)}; }
  static MBIRK_INLINE ints to_ints(pack a) { return {static_cast<std::int32_t>(a.v)}; }
  static MBIRK_INLINE pack to_pack(wide a) { return pack(a.v); }
  static MBIRK_INLINE pack to_pack_unsigned(ints a) {
    return pack(static_cast<float>(static_cast<std::uint32_t>(a.v)));
  }

  template <int Step> static MBIRK_INLINE pack exchange(pack a) { return pack(W::shfl_xor(a.v, Step)); }
  static MBIRK_INLINE float common(pack a) { return a.v; }
  /// p[index] in the first n lanes, 0 in the others.
  static MBIRK_INLINE sums gather_sums(double const* p, ints index, int n) {
    return sums(W::lane() < n ? p[index.v] : 0.0);
  }
  static MBIRK_INLINE void store_total(double* p, sums a) { store_value(p, total(a.v)); }
  template <class F> static MBIRK_INLINE void each_lane(pack a, pack other, int n, F const& f) {
    if (W::lane() < n) f(a.v, other.v);
  }
  static MBIRK_INLINE void count(std::int32_t* place, bool one) {
    if (one) W::count(place, 1);
  }

  // Operations of warps only (warp_pack_backend).
  static MBIRK_INLINE float element(pack a) { return a.v; }
  static MBIRK_INLINE std::int32_t element(ints a) { return a.v; }
  static MBIRK_INLINE double element(wide a) { return a.v; }
  static MBIRK_INLINE float at(pack a, int lane) { return W::shfl(a.v, lane); }
  static MBIRK_INLINE double at(wide a, int lane) { return W::shfl(a.v, lane); }
  static MBIRK_INLINE std::int32_t at(ints a, int lane) { return W::shfl(a.v, lane); }
  static MBIRK_INLINE unsigned where(warp_mask c) { return W::ballot(c.v); }
  /// The lanes that have the integer of the calling lane.
  static MBIRK_INLINE unsigned lanes_with(std::int32_t x) { return W::match(x); }
  static MBIRK_INLINE double total(double x) { return W::sum(x); }
  /// Adds `times` to a counter that threads share.
  static MBIRK_INLINE void count_many(std::int32_t* place, std::int32_t times) { W::count(place, times); }
  /// True on lane 0 of every warp.
  static MBIRK_INLINE bool leads() { return W::lane() == 0; }
  /// Barrier of the warp: what its lanes have stored before is visible to all of them after it.
  static MBIRK_INLINE void order_lanes() { W::sync(); }
  /// Elements 0 .. n - 1 (n > 0); the lanes from n on repeat the last one.
  static MBIRK_INLINE ints load_ints_within(std::int32_t const* p, int n) {
    return {p[W::lane() < n ? W::lane() : n - 1]};
  }
  static MBIRK_INLINE ints gather_ints(std::int32_t const* p, ints index) { return {p[index.v]}; }
  static MBIRK_INLINE index_t gather_index(index_t const* p, ints index) { return p[index.v]; }
  /// p[index] in the lanes where `mine` holds, 0 in the others.
  static MBIRK_INLINE pack gather_where(float const* p, ints index, bool mine) {
    return pack(mine ? p[index.v] : 0.0f);
  }
  /// p, which points to global memory. The compiler cannot see that of a pointer that was in shared memory, and would
  /// use slower loads.
  static MBIRK_INLINE float const* in_global_memory(float const* p) {
    W::assume_global(p);
    return p;
  }
  /// The two elements from p[index] on, where index is even: one access per lane.
  static MBIRK_INLINE void gather_two(float const* p, ints index, pack& first, pack& second) {
    two const loaded = *reinterpret_cast<two const*>(p + index.v);
    first = pack(loaded.v[0]);
    second = pack(loaded.v[1]);
  }
  /// Asks for the 32 bytes at the calling lane's p to be in the cache when they are loaded.
  static MBIRK_INLINE void prefetch(float const* p) { W::prefetch(p); }
  /// p[index] = a in the lanes where `mine` holds.
  static MBIRK_INLINE void scatter_ints(std::int32_t* p, ints index, ints a, bool mine) {
    if (mine) p[index.v] = a.v;
  }
  static MBIRK_INLINE void scatter(float* p, ints index, pack a, bool mine) {
    if (mine) p[index.v] = a.v;
  }

  /// Four packs that a kernel only adds up element by element: lane l has elements 4 l .. 4 l + 3, one in each pack.
  /// The forms without n take one access per lane; p is a multiple of 16 bytes.
  static MBIRK_INLINE void load_four(float const* p, pack (&x)[4]) { load_own_four(p + 4 * W::lane(), x); }
  static MBIRK_INLINE void store_four(float* p, pack const (&x)[4]) {
    *reinterpret_cast<four*>(p + 4 * W::lane()) = four{{x[0].v, x[1].v, x[2].v, x[3].v}};
  }
  /// The first n elements; the others are 0 or are not stored.
  static MBIRK_INLINE void load_four(float const* p, pack (&x)[4], index_t n) {
    for (int k = 0; k < 4; ++k) x[k] = pack(4 * W::lane() + k < n ? p[4 * W::lane() + k] : 0.0f);
  }
  static MBIRK_INLINE void store_four(float* p, pack const (&x)[4], index_t n) {
    for (int k = 0; k < 4; ++k) put(p + (4 * W::lane() + k), x[k].v, 4 * W::lane() + k < n);
  }
  /// For repeated loads of the first n elements, a multiple of 4: the calling lane's four begin at own_four(n), and are
  /// the first four if those of the lane are not among the n.
  static MBIRK_INLINE int own_four(int n) { return 4 * W::lane() < n ? 4 * W::lane() : 0; }
  static MBIRK_INLINE void load_own_four(float const* p, pack (&x)[4]) {
    four const loaded = *reinterpret_cast<four const*>(p);
    for (int k = 0; k < 4; ++k) x[k] = pack(loaded.v[k]);
  }

  /// Transposes 32 x 32 elements in five rounds; each exchanges half of the rows with the lane 16, 8, 4, 2, 1 away.
  static MBIRK_INLINE void transpose(pack (&rows)[lanes]) {
    static_for<5>([&](auto round) MBIRK_FLAT {
      constexpr int step = 16 >> round;
      bool const upper = (W::lane() & step) != 0;
      static_for<lanes / 2>([&](auto k) MBIRK_FLAT {
        constexpr int first = k / step * (2 * step) + k % step, second = first + step;
        float const kept = upper ? rows[second].v : rows[first].v;
        float const other = W::shfl_xor(upper ? rows[first].v : rows[second].v, step);
        rows[first] = pack(upper ? other : kept);
        rows[second] = pack(upper ? kept : other);
      });
    });
  }

 private:
  struct alignas(8) two { float v[2]; };
  struct alignas(16) four { float v[4]; };

  template <class T> static MBIRK_INLINE void put(T* p, T x, bool mine) {
    if (mine) *p = x;
  }
};

}  // namespace mbirk::simd
