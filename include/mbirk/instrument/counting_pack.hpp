// The backends of counting: one that wraps another backend operation by operation, and one without data for the cost
// model.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "mbirk/instrument/counting_value.hpp"
#include "mbirk/kernel/shared/scratch.hpp"

namespace mbirk::instrument {

/// Pack without lanes whose arithmetic does nothing; the data type of slices in the cost model.
struct no_pack {
  no_pack() = default;
  MBIRK_HD constexpr explicit no_pack(double) noexcept {}
  friend constexpr no_pack operator+(no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack operator-(no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack operator*(no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack operator/(no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack fma(no_pack, no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack fnma(no_pack, no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack max(no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack min(no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack sqrt(no_pack) noexcept { return {}; }
  friend constexpr no_pack abs(no_pack) noexcept { return {}; }
  friend constexpr no_pack exp(no_pack) noexcept { return {}; }
  friend constexpr no_pack exp2(no_pack) noexcept { return {}; }
  friend constexpr no_pack log2(no_pack) noexcept { return {}; }
  friend constexpr no_pack is_nan(no_pack) noexcept { return {}; }
  friend constexpr no_pack operator<(no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack operator|(no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack operator&(no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack select(no_pack, no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack rotate_left(no_pack, int) noexcept { return {}; }
  friend constexpr no_pack lookup(no_pack, no_pack) noexcept { return {}; }
  friend constexpr no_pack lookup2(no_pack, no_pack, no_pack) noexcept { return {}; }
};

/// The native backend without data: loads and stores touch no memory. Used only as counted<no_data<...>>.
template <class Native> struct no_data {
  static constexpr int lanes = Native::lanes;
  static constexpr bool has_data = false;
  using pack = no_pack;
  using ints = no_pack;
  using sums = no_pack;

  static no_pack load(float const*) { return {}; }
  static no_pack load_partial(float const*, int) { return {}; }
  static no_pack load_broadcast(float const*) { return {}; }
  static no_pack load_sums(double const*) { return {}; }
  static no_pack gather(float const*, typename Native::ints) { return {}; }
  static void store(float*, no_pack) {}
  static void store_partial(float*, no_pack, int) {}
  static void store_sums(double*, no_pack) {}
  static void store_total(double*, no_pack) {}
  static no_pack broadcast(float) { return {}; }
  static no_pack broadcast(std::int32_t) { return {}; }
  static no_pack iota() { return {}; }
  static no_pack first_lanes(index_t) { return {}; }
  static no_pack to_pack_unsigned(no_pack) { return {}; }
  static no_pack to_ints(no_pack) { return {}; }
  static no_pack lift(typename Native::pack) { return {}; }
  static no_pack no_sum() { return {}; }
  static no_pack widen(no_pack) { return {}; }
  static no_pack narrow(no_pack) { return {}; }
  template <class F> static void each_lane(no_pack, no_pack, int, F const&) {}
  static void count(std::int32_t*, bool) {}
  static void transpose(no_pack (&)[lanes]) {}
};

/// Wraps Fast with the same interface and counts every operation and access. Native: the backend of weights and
/// indices, which has data in the cost model too.
template <class Fast, class Native = Fast> struct counted {
  static constexpr int lanes = Fast::lanes;
  static constexpr bool has_data = Fast::has_data;
  static constexpr bool counts = true;
  using pack = counted_value<Fast, typename Fast::pack, number::f32>;
  using ints = counted_ints<Fast>;
  using wide = counted_value<Native, typename Native::wide, number::f64>;
  using sums = counted_value<Fast, typename Fast::sums, number::f64>;
  using index_backend = counted<Native>;
  template <class T> using cursor = counted_cursor<T>;

  template <class T> static MBIRK_HOST_INLINE void note_load(counted_cursor<T> const& c, int n) {
    if constexpr (on_warp) note_access_by_call<false>(c, n);
    else note_access<false>(c, n);
  }
  template <class T> static MBIRK_HOST_INLINE void note_store(counted_cursor<T> const& c, int n) {
    if constexpr (on_warp) note_access_by_call<true>(c, n);
    else note_access<true>(c, n);
  }

  template <class T> static MBIRK_HOST_INLINE pack load(counted_cursor<T> c) {
    note_load(c, lanes);
    return pack(Fast::load(c.pointer()));
  }
  template <class T> static MBIRK_HOST_INLINE pack load_once(counted_cursor<T> c) { return load(c); }
  template <class T> static MBIRK_HOST_INLINE pack load_partial(counted_cursor<T> c, int n) {
    note_load(c, n);
    return pack(Fast::load_partial(c.pointer(), n));
  }
  template <class T> static MBIRK_HOST_INLINE pack load_broadcast(counted_cursor<T> c) {
    note_load(c, 1);
    return pack(Fast::load_broadcast(c.pointer()));
  }
  template <class T> static MBIRK_HOST_INLINE pack gather(counted_cursor<T> c, typename index_backend::ints index) {
    if constexpr (on_warp) {
      note_elements_by_call<false>(c + Fast::element(index.v), 1);
      note_scattered(c, index, lanes);
    } else {
      for (int k = 0; k < lanes; ++k) note_load(c + index.v.v[k], 1);
    }
    return pack(Fast::gather(c.pointer(), index.v));
  }
  template <class T> static MBIRK_HOST_INLINE sums gather_sums(counted_cursor<T> c, ints index, int n) {
    if (Fast::element(Fast::iota()) < n) note_elements_by_call<false>(c + Fast::element(index.v), 1);
    note_scattered(c, index, n);
    return sums(Fast::gather_sums(c.pointer(), index.v, n));
  }
  static MBIRK_HOST_INLINE void store(counted_cursor<float> c, pack a) {
    note_store(c, lanes);
    Fast::store(c.pointer(), a.v);
  }
  static MBIRK_HOST_INLINE void store_partial(counted_cursor<float> c, pack a, int n) {
    note_store(c, n);
    Fast::store_partial(c.pointer(), a.v, n);
  }

  // Weights and indices only: these have data under every policy.
  template <class T> static MBIRK_HOST_INLINE ints load_ints(counted_cursor<T> c) {
    note_load(c, lanes);
    return ints{Fast::load_ints(c.pointer())};
  }
  template <class T> static MBIRK_HOST_INLINE wide load_wide(counted_cursor<T> c) {
    note_load(c, lanes);
    return wide(Fast::load_wide(c.pointer()));
  }
  template <class T> static MBIRK_HOST_INLINE std::remove_const_t<T> load_value(counted_cursor<T> c) {
    note_load(c, 1);
    return Fast::load_value(c.pointer());
  }
  template <class T> static MBIRK_HOST_INLINE void store_value(counted_cursor<T> c, T x) {
    note_store(c, 1);
    Fast::store_value(c.pointer(), x);
  }
  static MBIRK_HOST_INLINE void store(counted_cursor<std::int32_t> c, ints a) {
    note_store(c, lanes);
    Fast::store(c.pointer(), a.v);
  }
  static MBIRK_HOST_INLINE void store(counted_cursor<double> c, wide a) {
    note_store(c, lanes);
    Fast::store(c.pointer(), a.v);
  }
  static MBIRK_HOST_INLINE wide to_wide(ints a) {
    tick<Fast, number::f64, operation::convert>();
    return wide(Fast::to_wide(a.v));
  }
  static MBIRK_HOST_INLINE wide to_wide(pack a) {
    tick<Fast, number::f64, operation::convert>();
    return wide(Fast::to_wide(a.v));
  }
  static MBIRK_HOST_INLINE ints to_ints(wide a) {
    tick<Fast, number::i32, operation::convert>();
    return ints{Fast::to_ints(a.v)};
  }
  static MBIRK_HOST_INLINE ints to_ints(pack a) {
    tick<Fast, number::i32, operation::convert>();
    return ints{Fast::to_ints(a.v)};
  }
  static MBIRK_HOST_INLINE pack to_pack(wide a) {
    tick<Fast, number::f32, operation::convert>();
    return pack(Fast::to_pack(a.v));
  }
  template <int Step> static MBIRK_HOST_INLINE pack exchange(pack a) {
    tick<Fast, number::f32, operation::permute>();
    return pack(Fast::template exchange<Step>(a.v));
  }
  static MBIRK_HOST_INLINE float common(pack a) { return Fast::common(a.v); }
  static MBIRK_HOST_INLINE wide broadcast(double x) {
    tick<Fast, number::f64, operation::broadcast>();
    return wide(Native::broadcast(x));
  }

  static MBIRK_HOST_INLINE sums no_sum() {
    return sums(Fast::no_sum());
  }
  static MBIRK_HOST_INLINE sums widen(pack a) {
    tick<Fast, number::f64, operation::convert>();
    return sums(Fast::widen(a.v));
  }
  static MBIRK_HOST_INLINE pack narrow(sums a) {
    tick<Fast, number::f32, operation::convert>();
    return pack(Fast::narrow(a.v));
  }
  template <class T> static MBIRK_HOST_INLINE sums load_sums(counted_cursor<T> c) {
    note_load(c, lanes);
    return sums(Fast::load_sums(c.pointer()));
  }
  static MBIRK_HOST_INLINE void store_sums(counted_cursor<double> c, sums a) {
    note_store(c, lanes);
    Fast::store_sums(c.pointer(), a.v);
  }
  static MBIRK_HOST_INLINE void store_total(counted_cursor<double> c, sums a) {
    note_scalar({.add = lanes - 1});
    note_store(c, 1);
    Fast::store_total(c.pointer(), a.v);
  }
  template <class F> static MBIRK_HOST_INLINE void each_lane(pack a, pack other, int n, F const& f) {
    Fast::each_lane(a.v, other.v, n, f);
  }
  static MBIRK_HOST_INLINE void count(std::int32_t* place, bool one) {
    Fast::count(place, one);
  }
  static MBIRK_HOST_INLINE void note_scalar(simd::scalar_work const& w) {
    if (!counts_here<Fast>()) return;
    auto const note = [](number t, operation o, index_t n) MBIRK_FLAT {
      counts_now.lanes[static_cast<int>(t)][static_cast<int>(o)] += static_cast<std::uint64_t>(n);
      counts_now.issued[static_cast<int>(t)][static_cast<int>(o)] += static_cast<std::uint64_t>(n);
    };
    note(number::f64, operation::add, w.add);
    note(number::f64, operation::mul, w.mul);
    note(number::f64, operation::compare, w.compare);
    note(number::f64, operation::convert, w.convert);
    note(number::i32, operation::integer, w.integer);
  }

  static MBIRK_HOST_INLINE pack constant(double x) { return pack(x); }
  static MBIRK_HOST_INLINE pack broadcast(float x) {
    tick<Fast, number::f32, operation::broadcast>();
    return pack(Fast::broadcast(x));
  }
  static MBIRK_HOST_INLINE ints broadcast(std::int32_t x) {
    tick<Fast, number::i32, operation::broadcast>();
    return ints{Fast::broadcast(x)};
  }
  static MBIRK_HOST_INLINE ints iota() {
    return ints{Fast::iota()};
  }
  static MBIRK_HOST_INLINE pack first_lanes(index_t n) {
    return pack(Fast::first_lanes(n));
  }
  static MBIRK_HOST_INLINE pack to_pack_unsigned(ints a) {
    tick<Fast, number::f32, operation::convert>();
    return pack(Fast::to_pack_unsigned(a.v));
  }
  static MBIRK_HOST_INLINE pack lift(typename index_backend::pack a) {
    return pack(Fast::lift(a.v));
  }
  static MBIRK_HOST_INLINE void transpose(pack (&rows)[lanes]) {
    constexpr int rounds = std::bit_width(static_cast<unsigned>(lanes)) - 1;
    tick<Fast, number::f32, operation::permute>(std::uint64_t{lanes} * rounds);
    typename Fast::pack plain[lanes];
    for (int k = 0; k < lanes; ++k) plain[k] = rows[k].v;
    Fast::transpose(plain);
    for (int k = 0; k < lanes; ++k) rows[k] = pack(plain[k]);
  }
  static MBIRK_HOST_INLINE void note_lanes(index_t useful, index_t executed) {
    if (!counts_here<Fast>()) return;
    counts_now.lanes_useful += static_cast<std::uint64_t>(useful);
    counts_now.lanes_executed += static_cast<std::uint64_t>(executed);
  }

  // Operations that only a warp offers (simd/warp.hpp).
  static MBIRK_HOST_INLINE float element(pack a) { return Fast::element(a.v); }
  static MBIRK_HOST_INLINE std::int32_t element(ints a) { return Fast::element(a.v); }
  static MBIRK_HOST_INLINE double element(wide a) { return Fast::element(a.v); }
  static MBIRK_HOST_INLINE float at(pack a, int lane) {
    tick<Fast, number::f32, operation::permute>();
    return Fast::at(a.v, lane);
  }
  static MBIRK_HOST_INLINE double at(wide a, int lane) {
    tick<Fast, number::f64, operation::permute>();
    return Fast::at(a.v, lane);
  }
  static MBIRK_HOST_INLINE std::int32_t at(ints a, int lane) {
    tick<Fast, number::i32, operation::permute>();
    return Fast::at(a.v, lane);
  }
  static MBIRK_HOST_INLINE void count_many(std::int32_t* place, std::int32_t times) { Fast::count_many(place, times); }
  static MBIRK_HOST_INLINE bool leads() { return Fast::leads(); }
  static MBIRK_HOST_INLINE void order_lanes() requires requires { Fast::order_lanes(); } { Fast::order_lanes(); }
  template <class T> static MBIRK_HOST_INLINE ints load_ints_within(counted_cursor<T> c, int n) {
    note_load(c, n);
    return ints{Fast::load_ints_within(c.pointer(), n)};
  }
  template <class T> static MBIRK_HOST_INLINE ints gather_ints(counted_cursor<T> c, ints index) {
    note_elements_by_call<false>(c + Fast::element(index.v), 1);
    note_scattered(c, index, lanes);
    return ints{Fast::gather_ints(c.pointer(), index.v)};
  }
  template <class T> static MBIRK_HOST_INLINE index_t gather_index(counted_cursor<T> c, ints index) {
    note_elements_by_call<false>(c + Fast::element(index.v), 1);
    note_scattered(c, index, lanes);
    return Fast::gather_index(c.pointer(), index.v);
  }
  template <class T> static MBIRK_HOST_INLINE pack gather_where(counted_cursor<T> c, ints index, bool mine) {
    if (mine) note_elements_by_call<false>(c + Fast::element(index.v), 1);
    note_scattered(c, index, lanes, mine);
    return pack(Fast::gather_where(c.pointer(), index.v, mine));
  }
  template <class T> static MBIRK_HOST_INLINE counted_cursor<T> in_global_memory(counted_cursor<T> c) { return c; }
  template <class T>
  static MBIRK_HOST_INLINE void gather_two(counted_cursor<T> c, ints index, pack& first, pack& second) {
    note_elements_by_call<false>(c + Fast::element(index.v), 2);
    note_scattered(c, index, lanes);
    Fast::gather_two(c.pointer(), index.v, first.v, second.v);
  }
  static MBIRK_HOST_INLINE void scatter_ints(counted_cursor<std::int32_t> c, ints index, ints a, bool mine) {
    if (mine) {
      c.tally->now.stores += 1;
      c.tally->now.bytes_stored += sizeof(std::int32_t);
    }
    Fast::scatter_ints(c.pointer(), index.v, a.v, mine);
  }
  static MBIRK_HOST_INLINE void scatter(counted_cursor<float> c, ints index, pack a, bool mine) {
    if (mine) note_elements_by_call<true>(c + Fast::element(index.v), 1);
    note_scattered(c, index, lanes, mine);
    Fast::scatter(c.pointer(), index.v, a.v, mine);
  }
  static MBIRK_HOST_INLINE unsigned where(typename pack::mask c) {
    tick<Fast, number::i32, operation::permute>();
    return Fast::where(c.v);
  }
  static MBIRK_HOST_INLINE unsigned lanes_with(std::int32_t x) {
    tick<Fast, number::i32, operation::permute>();
    return Fast::lanes_with(x);
  }
  static MBIRK_HOST_INLINE double total(double x) {
    note_scalar({.add = lanes - 1});
    return Fast::total(x);
  }

 private:
  static constexpr bool on_warp = simd::warp_pack_backend<Fast>;
  static constexpr index_t sector_bytes = 32;

  template <bool Stores, class T> static MBIRK_HOST_INLINE void note_access(counted_cursor<T> const& c, int n) {
    if (!counts_here<Fast>()) return;
    note_request(c, n);
    note_elements<Stores>(c, n);
  }
  template <bool Stores, class T>
  static MBIRK_HOST_NOINLINE void note_access_by_call(counted_cursor<T> const& c, int n) {
    note_access<Stores>(c, n);
  }
  template <bool Stores, class T> static MBIRK_HOST_INLINE void note_elements(counted_cursor<T> const& c, int n) {
    auto& now = c.tally->now;
    (Stores ? now.stores : now.loads) += 1;
    (Stores ? now.bytes_stored : now.bytes_loaded) += static_cast<std::uint64_t>(n) * sizeof(T);
    if (c.tally->tracked)
      c.tally->touch(c.at * static_cast<index_t>(sizeof(T)), n * static_cast<int>(sizeof(T)), Stores);
  }
  template <bool Stores, class T>
  static MBIRK_HOST_NOINLINE void note_elements_by_call(counted_cursor<T> const& c, int n) {
    note_elements<Stores>(c, n);
  }
  /// Records a warp's access to consecutive elements and the sectors it covers. Arrays start at a sector boundary, as
  /// device memory does.
  template <class T> static MBIRK_HOST_INLINE void note_request(counted_cursor<T> const& c, int n) {
    if constexpr (on_warp) {
      if (n <= 0) return;
      index_t const first = c.at * static_cast<index_t>(sizeof(T)),
                    last = first + n * static_cast<index_t>(sizeof(T)) - 1;
      c.tally->now.requests += 1;
      c.tally->now.sectors += static_cast<std::uint64_t>(last / sector_bytes - first / sector_bytes + 1);
    }
  }
  /// Records scattered elements for the first n lanes of a warp, those where `mine` holds; each sector counts once.
  template <class T> static void note_scattered(counted_cursor<T> const& c, typename index_backend::ints index, int n,
                                                bool mine = true) {
    unsigned const there = Fast::where(simd::condition_of<typename Fast::pack>{mine});
    std::uint64_t sectors = 0;
    index_t seen[lanes];
    for (int k = 0; k < n; ++k) {
      index_t const sector = (c.at + Fast::at(index.v, k)) * static_cast<index_t>(sizeof(T)) / sector_bytes;
      bool known = (there >> k & 1) == 0;
      for (std::uint64_t j = 0; j < sectors; ++j) known |= seen[j] == sector;
      if (!known) seen[sectors++] = sector;
    }
    if (!counts_here<Fast>() || sectors == 0) return;
    c.tally->now.requests += 1;
    c.tally->now.sectors += sectors;
  }
};

static_assert(simd::pack_backend<counted<simd::native_backend>>);
static_assert(simd::pack_backend<counted<no_data<simd::native_backend>, simd::native_backend>>);

/// Parts of scratch memory as observed arrays.
struct counted_scratch {
  std::byte* base;
  array_tally* const* tallies;
  template <class T> counted_cursor<T> at(kernel::scratch_part part) const noexcept {
    return {reinterpret_cast<T*>(base + part.offset), 0, tallies[part.id]};
  }
};

}  // namespace mbirk::instrument
