// Values that count the operations on them. They stay vectors and results keep their bits; counters are thread-local,
// so a value carries no pointer.
#pragma once

#include <cstdint>
#include <type_traits>

#include "mbirk/instrument/ledger.hpp"
#include "mbirk/simd/pack.hpp"

namespace mbirk::instrument {

/// True on one lane per warp, so that warp-wide operations count once.
template <class Fast> MBIRK_HOST_INLINE bool counts_here() noexcept {
  if constexpr (simd::warp_pack_backend<Fast>) return Fast::leads();
  else return true;
}

template <class Fast, number T, operation O> MBIRK_HOST_INLINE void tick_here(std::uint64_t times) noexcept {
  if (!counts_here<Fast>()) return;
  counts_now.lanes[static_cast<int>(T)][static_cast<int>(O)] += times * Fast::lanes;
  counts_now.issued[static_cast<int>(T)][static_cast<int>(O)] += times;
}
template <class Fast, number T, operation O> MBIRK_HOST_NOINLINE void tick_by_call(std::uint64_t times) noexcept {
  tick_here<Fast, T, O>(times);
}

/// Counts `times` operations on all lanes. Kernels of warps count by calls: they take half as long to compile, and a
/// tenth longer to emulate.
template <class Fast, number T, operation O> MBIRK_HOST_INLINE void tick(std::uint64_t times = 1) noexcept {
  if constexpr (simd::warp_pack_backend<Fast>) tick_by_call<Fast, T, O>(times);
  else tick_here<Fast, T, O>(times);
}

template <class Fast> struct counted_ints {
  [[no_unique_address]] typename Fast::ints v;
  friend MBIRK_HOST_INLINE counted_ints operator+(counted_ints a, counted_ints b) { return ticked(a.v + b.v); }
  friend MBIRK_HOST_INLINE counted_ints operator*(counted_ints a, counted_ints b) { return ticked(a.v * b.v); }
  friend MBIRK_HOST_INLINE counted_ints operator&(counted_ints a, counted_ints b) { return ticked(a.v & b.v); }
  friend MBIRK_HOST_INLINE counted_ints rotate_left(counted_ints a, int bits) { return ticked(rotate_left(a.v, bits)); }

 private:
  static MBIRK_HOST_INLINE counted_ints ticked(typename Fast::ints x) {
    tick<Fast, number::i32, operation::integer>();
    return counted_ints{x};
  }
};

/// Result of comparing values of type V.
template <class Fast, class V> struct counted_mask {
  [[no_unique_address]] decltype(V() < V()) v;
  friend MBIRK_HOST_INLINE counted_mask operator|(counted_mask a, counted_mask b) {
    tick<Fast, number::i32, operation::integer>();
    return {a.v | b.v};
  }
};

/// Pack V of numbers of type T. Literals are free; everything that needs an instruction is counted.
template <class Fast, class V, number T> struct counted_value {
  using mask = counted_mask<Fast, V>;
  [[no_unique_address]] V v;
  counted_value() = default;
  MBIRK_HOST_INLINE explicit counted_value(V x) : v(x) {}
  MBIRK_INLINE explicit counted_value(double constant) : v(constant) {}

  friend MBIRK_HOST_INLINE counted_value operator+(counted_value a, counted_value b) {
    return ticked<operation::add>(a.v + b.v);
  }
  friend MBIRK_HOST_INLINE counted_value operator-(counted_value a, counted_value b) {
    return ticked<operation::add>(a.v - b.v);
  }
  friend MBIRK_HOST_INLINE counted_value operator*(counted_value a, counted_value b) {
    return ticked<operation::mul>(a.v * b.v);
  }
  friend MBIRK_HOST_INLINE counted_value operator/(counted_value a, counted_value b) {
    return ticked<operation::div>(a.v / b.v);
  }
  friend MBIRK_HOST_INLINE counted_value fma(counted_value a, counted_value b, counted_value c) {
    return ticked<operation::fma>(fma(a.v, b.v, c.v));
  }
  friend MBIRK_HOST_INLINE counted_value fnma(counted_value a, counted_value b, counted_value c) {
    return ticked<operation::fma>(fnma(a.v, b.v, c.v));
  }
  friend MBIRK_HOST_INLINE counted_value max(counted_value a, counted_value b) {
    return ticked<operation::min_max>(max(a.v, b.v));
  }
  friend MBIRK_HOST_INLINE counted_value min(counted_value a, counted_value b) {
    return ticked<operation::min_max>(min(a.v, b.v));
  }
  friend MBIRK_HOST_INLINE counted_value max_number(counted_value a, counted_value b)
    requires requires { max_number(a.v, b.v); }
  {
    return ticked<operation::min_max>(max_number(a.v, b.v));
  }
  friend MBIRK_HOST_INLINE counted_value min_number(counted_value a, counted_value b)
    requires requires { min_number(a.v, b.v); }
  {
    return ticked<operation::min_max>(min_number(a.v, b.v));
  }
  friend MBIRK_HOST_INLINE counted_value saturated_fma(counted_value a, counted_value b, counted_value c)
    requires requires { saturated_fma(a.v, b.v, c.v); }
  {
    tick<Fast, T, operation::fma>();
    return ticked<operation::min_max>(saturated_fma(a.v, b.v, c.v));
  }
  friend MBIRK_HOST_INLINE counted_value sqrt(counted_value a) { return ticked<operation::sqrt>(sqrt(a.v)); }
  friend MBIRK_HOST_INLINE counted_value floor(counted_value a) { return ticked<operation::round>(floor(a.v)); }
  friend MBIRK_HOST_INLINE counted_value abs(counted_value a) { return ticked<operation::absolute>(abs(a.v)); }
  friend MBIRK_HOST_INLINE counted_value exp(counted_value a) { return ticked<operation::exp>(exp(a.v)); }
  friend MBIRK_HOST_INLINE counted_value exp2(counted_value a) { return ticked<operation::exp>(exp2(a.v)); }
  friend MBIRK_HOST_INLINE counted_value log2(counted_value a) { return ticked<operation::log>(log2(a.v)); }
  friend MBIRK_HOST_INLINE counted_value atan(counted_value a) { return simd::atan_by_halving(a); }
  friend MBIRK_HOST_INLINE mask operator<(counted_value a, counted_value b) {
    tick<Fast, T, operation::compare>();
    return {a.v < b.v};
  }
  friend MBIRK_HOST_INLINE mask is_nan(counted_value a) {
    tick<Fast, T, operation::compare>();
    return {is_nan(a.v)};
  }
  friend MBIRK_HOST_INLINE counted_value select(mask c, counted_value a, counted_value b) {
    return ticked<operation::select>(select(c.v, a.v, b.v));
  }
  friend MBIRK_HOST_INLINE counted_value lookup(counted_value a, counted_ints<Fast> index) {
    return ticked<operation::permute>(lookup(a.v, index.v));
  }
  friend MBIRK_HOST_INLINE counted_value lookup2(counted_value a, counted_value b, counted_ints<Fast> index) {
    return ticked<operation::permute>(lookup2(a.v, b.v, index.v));
  }

 private:
  template <operation O> static MBIRK_HOST_INLINE counted_value ticked(V x) {
    tick<Fast, T, O>();
    return counted_value(x);
  }
};

/// Cursor into an observed array. Moves like a pointer; without data the base and every pointer are null.
template <class T> struct counted_cursor {
  T* base = nullptr;
  index_t at = 0;
  array_tally* tally = nullptr;

  T* pointer() const noexcept { return base ? base + at : nullptr; }
  friend MBIRK_HOST_INLINE counted_cursor operator+(counted_cursor c, index_t n) { return {c.base, c.at + n, c.tally}; }
  template <class C>
    requires(!std::is_const_v<T> && std::is_same_v<C, T const>)
  operator counted_cursor<C>() const {
    return {base, at, tally};
  }
};

}  // namespace mbirk::instrument
