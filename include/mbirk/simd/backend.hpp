// Interface of the tuned kernels: what a backend B of packs offers them. Kernels depend on their backend only, so that
// one text runs on the vectors of the host (pack.hpp), on the warps of a device (warp.hpp), and is counted or modelled
// (instrument/counting_pack.hpp).
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "mbirk/core/config.hpp"
#include "mbirk/core/index.hpp"

namespace mbirk::simd {

/// Scalar operations outside of packs, as declared by a kernel.
struct scalar_work { index_t add = 0, mul = 0, compare = 0, convert = 0, integer = 0; };

/// The condition that comparing two packs gives.
template <class Pack> using condition_of = decltype(std::declval<Pack>() < std::declval<Pack>());

/// Arithmetic of packs of floats and of doubles. fma(a, b, c) = a b + c with one rounding. If an operand of max or min
/// is NaN, the result is the second one. select(c, a, b): a in the lanes where c holds, else b.
template <class T>
concept pack_of_numbers = requires(T a, condition_of<T> c) {
  T(1.0);
  { a + a } -> std::same_as<T>;
  { a - a } -> std::same_as<T>;
  { a * a } -> std::same_as<T>;
  { a / a } -> std::same_as<T>;
  { fma(a, a, a) } -> std::same_as<T>;
  { max(a, a) } -> std::same_as<T>;
  { min(a, a) } -> std::same_as<T>;
  { sqrt(a) } -> std::same_as<T>;
  { abs(a) } -> std::same_as<T>;
  { select(c, a, a) } -> std::same_as<T>;
};

/// Packs of floats, with their conditions, and of integers, which wrap around. Entry `index` of the lanes of a, or of
/// those of a and b: only the low bits of the index that address a lane are used.
template <class Pack, class Ints>
concept pack_of_floats = pack_of_numbers<Pack> && requires(Pack a, Ints i, condition_of<Pack> c) {
  { fnma(a, a, a) } -> std::same_as<Pack>;  // c - a b
  { exp(a) } -> std::same_as<Pack>;
  { exp2(a) } -> std::same_as<Pack>;
  { log2(a) } -> std::same_as<Pack>;  // for positive normal a
  { is_nan(a) } -> std::same_as<condition_of<Pack>>;
  { c | c } -> std::same_as<condition_of<Pack>>;
  { lookup(a, i) } -> std::same_as<Pack>;
  { lookup2(a, a, i) } -> std::same_as<Pack>;
  { i + i } -> std::same_as<Ints>;
  { i * i } -> std::same_as<Ints>;
  { i & i } -> std::same_as<Ints>;
  { rotate_left(i, 1) } -> std::same_as<Ints>;
};

/// Packs of double coordinates.
template <class Wide>
concept pack_of_coordinates = pack_of_numbers<Wide> && requires(Wide a) {
  { floor(a) } -> std::same_as<Wide>;
  { atan(a) } -> std::same_as<Wide>;
};

/// Double-precision sums of data, one per lane.
template <class Sums>
concept pack_of_sums = requires(Sums a) {
  { a + a } -> std::same_as<Sums>;
  { a - a } -> std::same_as<Sums>;
  { a * a } -> std::same_as<Sums>;
  { a / a } -> std::same_as<Sums>;
  { fma(a, a, a) } -> std::same_as<Sums>;
};

/// Loads and stores, through cursors. A cursor is a pointer, or stands for one.
///
/// load_once loads a value with several uses into a register. load_partial and store_partial touch the first n elements
/// only; the other lanes are 0. load_value and store_value take any trivial type: indices, offsets, plan entries.
/// store_total stores the sum of all lanes.
template <class B>
concept pack_memory = requires(typename B::pack& a, typename B::ints i, typename B::wide w, typename B::sums s,
                               typename B::index_backend::ints index, int n,
                               typename B::template cursor<float const> from,
                               typename B::template cursor<float> to,
                               typename B::template cursor<std::int32_t const> from_ints,
                               typename B::template cursor<std::int32_t> to_ints,
                               typename B::template cursor<double const> from_doubles,
                               typename B::template cursor<double> to_doubles) {
  { B::load(from + index_t{1}) } -> std::same_as<typename B::pack>;
  { B::load_once(from) } -> std::same_as<typename B::pack>;
  { B::load_partial(from, n) } -> std::same_as<typename B::pack>;
  { B::load_broadcast(from) } -> std::same_as<typename B::pack>;
  { B::gather(from, index) } -> std::same_as<typename B::pack>;
  { B::load_ints(from_ints) } -> std::same_as<typename B::ints>;
  { B::load_wide(from_doubles) } -> std::same_as<typename B::wide>;
  { B::load_sums(from_doubles) } -> std::same_as<typename B::sums>;
  { B::load_value(from_ints) } -> std::same_as<std::int32_t>;
  B::store(to, a);
  B::store_partial(to, a, n);
  B::store(to_ints, i);
  B::store(to_doubles, w);
  B::store_sums(to_doubles, s);
  B::store_total(to_doubles, s);
  B::store_value(to_ints, std::int32_t{1});
};

/// Interface of the tuned kernels.
///
/// lanes: elements of a pack. has_data: false in the cost model and in sizing, where arrays of samples and voxels have
/// no memory. counts: whether operations are counted, so that speed does not matter. pack, ints, wide: floats of data,
/// integers, double coordinates; sums: sums of data, which differ from wide only where there is no data. index_backend:
/// the backend of weights and indices, which always have data.
template <class B>
concept pack_backend =
    (B::lanes >= 4) && std::same_as<decltype(B::has_data), bool const> &&
    std::same_as<decltype(B::counts), bool const> &&
    pack_of_floats<typename B::pack, typename B::ints> && pack_of_coordinates<typename B::wide> &&
    pack_of_sums<typename B::sums> && pack_memory<B> &&
    requires(typename B::pack a, typename B::ints i, typename B::wide w, typename B::sums s,
             typename B::index_backend::pack weights, typename B::pack (&rows)[B::lanes], index_t n, int first_n,
             std::int32_t* place, void (*f)(float, float)) {
      { B::constant(1.0) } -> std::same_as<typename B::pack>;  // a literal, which costs nothing
      { B::broadcast(1.0f) } -> std::same_as<typename B::pack>;
      { B::broadcast(1.0) } -> std::same_as<typename B::wide>;
      { B::broadcast(std::int32_t{1}) } -> std::same_as<typename B::ints>;
      { B::iota() } -> std::same_as<typename B::ints>;           // 0, 1, 2, ...
      { B::first_lanes(n) } -> std::same_as<typename B::pack>;   // 1 in the first n lanes, 0 in the others

      { B::to_wide(i) } -> std::same_as<typename B::wide>;
      { B::to_wide(a) } -> std::same_as<typename B::wide>;
      { B::to_ints(w) } -> std::same_as<typename B::ints>;       // truncates; apply floor first
      { B::to_ints(a) } -> std::same_as<typename B::ints>;
      { B::to_pack(w) } -> std::same_as<typename B::pack>;
      { B::to_pack_unsigned(i) } -> std::same_as<typename B::pack>;
      { B::lift(weights) } -> std::same_as<typename B::pack>;    // from the index backend to that of the data

      // Sums of data in double: accumulators of a pack each, in registers or arrays.
      { B::no_sum() } -> std::same_as<typename B::sums>;
      { B::widen(a) } -> std::same_as<typename B::sums>;
      { B::narrow(s) } -> std::same_as<typename B::pack>;

      { B::template exchange<1>(a) } -> std::same_as<typename B::pack>;  // lane k is lane k ^ 1 of a
      { B::common(a) } -> std::same_as<float>;  // the value that all lanes have
      B::transpose(rows);
      // f(value, value of other) for the first n lanes, for data-dependent code (histograms, order statistics); no-op
      // without data. The kernel reports the work of f with note_scalar. On a warp the lanes run in parallel.
      B::each_lane(a, a, first_n, f);
      B::count(place, true);  // within each_lane: adds 0 or 1 to a counter, which lanes may share
      B::note_lanes(n, n);    // reports the lanes that belong to a voxel or sample, and all that were executed
      B::note_scalar(scalar_work{});
    };

/// Additional operations of a warp, for device_reduce.hpp and block kernels: the calling lane's element, one lane's
/// element in all lanes, the ballot of a condition, the sum of all lanes, and p[index] in the first n lanes.
template <class B>
concept warp_pack_backend = pack_backend<B> &&
    requires(typename B::pack a, typename B::ints i, typename B::wide w,
             typename B::template cursor<double const> from, int lane) {
      { B::element(a) } -> std::same_as<float>;
      { B::element(i) } -> std::same_as<std::int32_t>;
      { B::element(w) } -> std::same_as<double>;
      { B::at(a, lane) } -> std::same_as<float>;
      { B::at(w, lane) } -> std::same_as<double>;
      { B::where(a < a) } -> std::same_as<unsigned>;
      { B::leads() } -> std::same_as<bool>;  // on one lane
      { B::total(1.0) } -> std::same_as<double>;
      { B::gather_sums(from, i, lane) } -> std::same_as<typename B::sums>;
    };

/// Operations derived by backends whose packs have data and are not counted. Self: the backend.
template <class Self, class Pack, class Ints, class Wide> struct data_backend {
  static constexpr bool has_data = true, counts = false;
  using pack = Pack;
  using ints = Ints;
  using wide = Wide;
  using sums = Wide;
  using index_backend = Self;
  template <class T> using cursor = T*;

  template <class T> static MBIRK_INLINE T load_value(T const* p) { return *p; }
  static MBIRK_INLINE pack load_broadcast(float const* p) { return pack(static_cast<double>(*p)); }
  static MBIRK_INLINE pack constant(double x) { return pack(x); }
  static MBIRK_INLINE pack broadcast(float x) { return pack(static_cast<double>(x)); }
  static MBIRK_INLINE wide broadcast(double x) { return wide(x); }
  static MBIRK_INLINE ints broadcast(std::int32_t x) { return ints{x}; }
  static MBIRK_INLINE pack lift(pack a) { return a; }
  static MBIRK_INLINE sums no_sum() { return sums(0.0); }
  static MBIRK_INLINE sums widen(pack a) { return Self::to_wide(a); }
  static MBIRK_INLINE pack narrow(sums a) { return Self::to_pack(a); }
  static MBIRK_INLINE sums load_sums(double const* p) { return Self::load_wide(p); }
  static MBIRK_INLINE void store_sums(double* p, sums a) { Self::store(p, a); }
  // Only counting backends report.
  static MBIRK_INLINE void note_lanes(index_t /*useful*/, index_t /*executed*/) {}
  static MBIRK_INLINE void note_scalar(scalar_work const&) {}
};

}  // namespace mbirk::simd
