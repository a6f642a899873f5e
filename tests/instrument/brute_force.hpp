// Counting by brute force, as a reference for instrument::counting: packs are arrays of scalars, each of whose
// operators adds one to a plain counter, and memory accesses go one by one through sets of words and simulated caches.
// Shares nothing with counting_pack.hpp, ledger.hpp and reuse.hpp.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "instrument/lru_memory.hpp"
#include "mbirk/instrument/concepts.hpp"
#include "mbirk/kernel/shared/scratch.hpp"
#include "mbirk/simd/pack.hpp"

namespace mbirk::testing::brute {

/// Operations of scalars of one type.
struct tally {
  std::uint64_t add = 0, mul = 0, fma = 0, div = 0, sqrt = 0, min_max = 0, compare = 0, select = 0, round = 0,
                convert = 0, permute = 0, broadcast = 0, integer = 0, absolute = 0, exp = 0, log = 0;
};
template <class T> inline tally counter{};

template <class T> struct scalar {
  T x{};
  friend scalar operator+(scalar a, scalar b) { return ++counter<T>.add, scalar{a.x + b.x}; }
  friend scalar operator-(scalar a, scalar b) { return ++counter<T>.add, scalar{a.x - b.x}; }
  friend scalar operator*(scalar a, scalar b) { return ++counter<T>.mul, scalar{a.x * b.x}; }
  friend scalar operator/(scalar a, scalar b) { return ++counter<T>.div, scalar{a.x / b.x}; }
  friend scalar fma(scalar a, scalar b, scalar c) {
    ++counter<T>.fma;
#if defined(__FMA__)
    return {std::fma(a.x, b.x, c.x)};
#else
    return {a.x * b.x + c.x};  // packs use this formula under counting
#endif
  }
  // The second operand if one is NaN.
  friend scalar max(scalar a, scalar b) { return ++counter<T>.min_max, a.x > b.x ? a : b; }
  friend scalar min(scalar a, scalar b) { return ++counter<T>.min_max, a.x < b.x ? a : b; }
  friend scalar sqrt(scalar a) { return ++counter<T>.sqrt, scalar{std::sqrt(a.x)}; }
  friend scalar floor(scalar a) { return ++counter<T>.round, scalar{std::floor(a.x)}; }
  friend scalar abs(scalar a) { return ++counter<T>.absolute, scalar{std::fabs(a.x)}; }
  friend bool operator<(scalar a, scalar b) { return ++counter<T>.compare, a.x < b.x; }
  friend bool is_nan(scalar a) { return ++counter<T>.compare, std::isnan(a.x); }
  friend scalar select(bool c, scalar a, scalar b) { return ++counter<T>.select, c ? a : b; }
};
/// Whole numbers wrap.
template <> struct scalar<std::int32_t> {
  std::int32_t x = 0;
  static std::uint32_t word(scalar a) { return ++counter<std::int32_t>.integer, static_cast<std::uint32_t>(a.x); }
  friend scalar operator+(scalar a, scalar b) {
    return {static_cast<std::int32_t>(word(a) + static_cast<std::uint32_t>(b.x))};
  }
  friend scalar operator*(scalar a, scalar b) {
    return {static_cast<std::int32_t>(word(a) * static_cast<std::uint32_t>(b.x))};
  }
  friend scalar operator&(scalar a, scalar b) {
    return {static_cast<std::int32_t>(word(a) & static_cast<std::uint32_t>(b.x))};
  }
  friend scalar rotate_left(scalar a, int bits) { return {static_cast<std::int32_t>(std::rotl(word(a), bits))}; }
};

template <int L> struct mask {
  bool lane[L];
  friend mask operator|(mask a, mask b) {
    for (int k = 0; k < L; ++k) ++counter<std::int32_t>.integer, a.lane[k] |= b.lane[k];
    return a;
  }
};

template <class T, int L> struct pack {
  scalar<T> lane[L];
  pack() = default;
  explicit pack(double constant) {
    for (auto& one : lane) one.x = static_cast<T>(constant);
  }
  template <class F> static pack of(F const& f) {
    pack a;
    for (int k = 0; k < L; ++k) a.lane[k] = f(k);
    return a;
  }
  friend pack operator+(pack const& a, pack const& b) { return of([&](int k) { return a.lane[k] + b.lane[k]; }); }
  friend pack operator-(pack const& a, pack const& b) { return of([&](int k) { return a.lane[k] - b.lane[k]; }); }
  friend pack operator*(pack const& a, pack const& b) { return of([&](int k) { return a.lane[k] * b.lane[k]; }); }
  friend pack operator/(pack const& a, pack const& b) { return of([&](int k) { return a.lane[k] / b.lane[k]; }); }
  friend pack operator&(pack const& a, pack const& b) { return of([&](int k) { return a.lane[k] & b.lane[k]; }); }
  friend pack rotate_left(pack const& a, int bits) { return of([&](int k) { return rotate_left(a.lane[k], bits); }); }
  friend pack fma(pack const& a, pack const& b, pack const& c) {
    return of([&](int k) { return fma(a.lane[k], b.lane[k], c.lane[k]); });
  }
  friend pack fnma(pack const& a, pack const& b, pack const& c) {
    return of([&](int k) { return fma(scalar<T>{-a.lane[k].x}, b.lane[k], c.lane[k]); });
  }
  friend pack max(pack const& a, pack const& b) { return of([&](int k) { return max(a.lane[k], b.lane[k]); }); }
  friend pack min(pack const& a, pack const& b) { return of([&](int k) { return min(a.lane[k], b.lane[k]); }); }
  friend pack sqrt(pack const& a) { return of([&](int k) { return sqrt(a.lane[k]); }); }
  friend pack floor(pack const& a) { return of([&](int k) { return floor(a.lane[k]); }); }
  friend pack abs(pack const& a) { return of([&](int k) { return abs(a.lane[k]); }); }
  friend pack atan(pack const& a) { return simd::atan_by_halving(a); }
  friend mask<L> operator<(pack const& a, pack const& b) {
    mask<L> m;
    for (int k = 0; k < L; ++k) m.lane[k] = a.lane[k] < b.lane[k];
    return m;
  }
  friend mask<L> is_nan(pack const& a) {
    mask<L> m;
    for (int k = 0; k < L; ++k) m.lane[k] = is_nan(a.lane[k]);
    return m;
  }
  friend pack select(mask<L> const& c, pack const& a, pack const& b) {
    return of([&](int k) { return select(c.lane[k], a.lane[k], b.lane[k]); });
  }
  friend pack lookup(pack const& a, pack<std::int32_t, L> const& index) {
    return of([&](int k) { return ++counter<T>.permute, a.lane[index.lane[k].x & (L - 1)]; });
  }
  friend pack lookup2(pack const& a, pack const& b, pack<std::int32_t, L> const& index) {
    return of([&](int k) {
      int const from = index.lane[k].x & (2 * L - 1);
      return ++counter<T>.permute, from < L ? a.lane[from] : b.lane[from - L];
    });
  }
  // Values of the library's own approximations; one operation a lane.
  friend pack exp(pack const& a) {
    return by_vectors(
        a, [](auto v) { return simd::detail::exp<L>(v); }, counter<T>.exp);
  }
  friend pack exp2(pack const& a) {
    return by_vectors(
        a, [](auto v) { return simd::detail::exp2<L>(v); }, counter<T>.exp);
  }
  friend pack log2(pack const& a) {
    return by_vectors(
        a, [](auto v) { return simd::detail::log2<L>(v); }, counter<T>.log);
  }

 private:
  template <class F> static pack by_vectors(pack const& a, F const& f, std::uint64_t& count) {
    simd::vector<T, L> v;
    for (int k = 0; k < L; ++k) v[k] = a.lane[k].x;
    v = f(v);
    return of([&](int k) { return ++count, scalar<T>{v[k]}; });
  }
};

inline constexpr std::size_t cache_sizes[] = {8, 64, 512};  ///< lines
inline constexpr int caches = 3;

/// An array, its touched words, and caches for this array alone.
struct array {
  std::string name;
  array_role role;
  index_t elements;
  int item_bytes;
  void const* base;
  std::uint64_t number;
  std::uint64_t loads = 0, stores = 0, bytes_loaded = 0, bytes_stored = 0, accesses = 0;
  std::vector<bool> read{}, written{};  ///< words of 4 bytes; read: before anything was written there
  std::vector<lru_memory> own{};

  static std::uint64_t bytes(std::vector<bool> const& words) {
    return 4 * static_cast<std::uint64_t>(std::count(words.begin(), words.end(), true));
  }
};

/// Everything one operation did.
struct record {
  std::deque<array> arrays;
  std::vector<lru_memory> all;  ///< caches that see every array
  std::vector<std::string> stages;
  std::map<std::string, std::uint64_t> stage_misses[caches];  ///< by the innermost stage
  std::vector<array*> scratch;
  int depth = 0;

  void begin() {
    counter<float> = counter<double> = counter<std::int32_t> = {};
    for (auto const lines : cache_sizes) all.emplace_back(lines);
  }
  void end() {
    for (auto& cache : all) cache.flush();
    for (auto& a : arrays)
      for (auto& cache : a.own) cache.flush();
  }
  array* find(void const* base, array_info const& info, int item_bytes) {
    auto const outer = [](array_role r) { return r == array_role::argument || r == array_role::output; };
    for (auto& a : arrays)
      if (outer(info.role)
              ? outer(a.role) && a.base == base
              : a.role == info.role && a.name == info.name && a.elements == info.elements && a.item_bytes == item_bytes)
        return &a;
    arrays.push_back({info.name, info.role, info.elements, item_bytes, base, arrays.size()});
    auto& a = arrays.back();
    a.read.resize(static_cast<std::size_t>(info.elements * item_bytes + 3) / 4);
    a.written.resize(a.read.size());
    for (auto const lines : cache_sizes) a.own.emplace_back(lines);
    return &a;
  }
  void access(array& a, index_t byte, index_t bytes, bool store);
};

template <class T> struct cursor {
  T* base = nullptr;
  index_t at = 0;
  array* of = nullptr;
  record* in = nullptr;

  friend cursor operator+(cursor c, index_t n) { return {c.base, c.at + n, c.of, c.in}; }
  template <class C>
    requires(!std::is_const_v<T> && std::is_same_v<C, T const>)
  operator cursor<C>() const {
    return {base, at, of, in};
  }
  T& operator[](index_t k) const { return base[at + k]; }
  void note(index_t n, bool store) const {
    if (n > 0) in->access(*of, at * static_cast<index_t>(sizeof(T)), n * static_cast<index_t>(sizeof(T)), store);
  }
};

struct scratch_memory {
  std::byte* base;
  record* in;
  template <class T> cursor<T> at(kernel::scratch_part part) const {
    return {reinterpret_cast<T*>(base + part.offset), 0, in->scratch[static_cast<std::size_t>(part.id)], in};
  }
};

/// The vocabulary of kernels, in lanes of scalars.
template <int L> struct backend {
  static constexpr int lanes = L;
  static constexpr bool has_data = true;
  static constexpr bool counts = true;
  using pack = brute::pack<float, L>;
  using ints = brute::pack<std::int32_t, L>;
  using wide = brute::pack<double, L>;
  using sums = wide;
  using index_backend = backend;
  template <class T> using cursor = brute::cursor<T>;

  template <class T> static auto read(cursor<T> c, int n) {
    c.note(n, false);
    return brute::pack<std::remove_const_t<T>, L>::of(
        [&](int k) { return scalar<std::remove_const_t<T>>{k < n ? c[k] : T{}}; });
  }
  template <class T> static void write(cursor<T> c, brute::pack<T, L> const& a, int n) {
    c.note(n, true);
    for (int k = 0; k < n; ++k) c[k] = a.lane[k].x;
  }
  template <class T> static pack load(cursor<T> c) { return read(c, L); }
  template <class T> static pack load_once(cursor<T> c) { return read(c, L); }
  template <class T> static pack load_partial(cursor<T> c, int n) { return read(c, n); }
  template <class T> static pack load_broadcast(cursor<T> c) {
    return c.note(1, false), pack(static_cast<double>(c[0]));
  }
  template <class T> static pack gather(cursor<T> c, ints const& index) {
    return pack::of([&](int k) { return (c + index.lane[k].x).note(1, false), scalar<float>{c[index.lane[k].x]}; });
  }
  template <class T> static ints load_ints(cursor<T> c) { return read(c, L); }
  template <class T> static wide load_wide(cursor<T> c) { return read(c, L); }
  template <class T> static sums load_sums(cursor<T> c) { return read(c, L); }
  template <class T> static std::remove_const_t<T> load_value(cursor<T> c) { return c.note(1, false), c[0]; }
  template <class T> static void store_value(cursor<T> c, T x) { c.note(1, true), c[0] = x; }
  static void store(cursor<float> c, pack const& a) { write(c, a, L); }
  static void store_partial(cursor<float> c, pack const& a, int n) { write(c, a, n); }
  static void store(cursor<std::int32_t> c, ints const& a) { write(c, a, L); }
  static void store(cursor<double> c, wide const& a) { write(c, a, L); }
  static void store_sums(cursor<double> c, sums const& a) { write(c, a, L); }
  static void store_total(cursor<double> c, sums const& a) {
    scalar<double> total = a.lane[0];
    for (int k = 1; k < L; ++k) total = total + a.lane[k];
    c.note(1, true), c[0] = total.x;
  }

  static pack constant(double x) { return pack(x); }
  static pack broadcast(float x) { return counter<float>.broadcast += L, pack(static_cast<double>(x)); }
  static wide broadcast(double x) { return counter<double>.broadcast += L, wide(x); }
  static ints broadcast(std::int32_t x) { return counter<std::int32_t>.broadcast += L, ints(x); }
  static ints iota() { return ints::of([](int k) { return scalar<std::int32_t>{k}; }); }
  static pack first_lanes(index_t n) { return pack::of([&](int k) { return scalar<float>{k < n ? 1.0f : 0.0f}; }); }

  template <class To, class From> static brute::pack<To, L> convert(brute::pack<From, L> const& a) {
    return brute::pack<To, L>::of(
        [&](int k) { return ++counter<To>.convert, scalar<To>{static_cast<To>(a.lane[k].x)}; });
  }
  static wide to_wide(ints const& a) { return convert<double>(a); }
  static wide to_wide(pack const& a) { return convert<double>(a); }
  static ints to_ints(wide const& a) { return convert<std::int32_t>(a); }
  static ints to_ints(pack const& a) { return convert<std::int32_t>(a); }
  static pack to_pack(wide const& a) { return convert<float>(a); }
  static sums widen(pack const& a) { return convert<double>(a); }
  static pack narrow(sums const& a) { return convert<float>(a); }
  static pack to_pack_unsigned(ints const& a) {
    simd::vector<std::int32_t, L> v;
    for (int k = 0; k < L; ++k) v[k] = a.lane[k].x;
    auto const real = simd::detail::to_float_unsigned(v);
    return pack::of([&](int k) { return ++counter<float>.convert, scalar<float>{real[k]}; });
  }
  static sums no_sum() { return sums(0.0); }
  static pack lift(pack const& a) { return a; }

  template <int Step> static pack exchange(pack const& a) {
    return pack::of([&](int k) {
      ++counter<float>.permute;
      return a.lane[k ^ Step];
    });
  }
  static float common(pack const& a) { return a.lane[0].x; }
  /// In log2(L) rounds that move every element.
  static void transpose(pack (&rows)[L]) {
    for (int step = 1; step < L; step *= 2) counter<float>.permute += L * L;
    for (int i = 0; i < L; ++i)
      for (int k = 0; k < i; ++k) std::swap(rows[i].lane[k], rows[k].lane[i]);
  }
  template <class F> static void each_lane(pack const& a, pack const& other, int n, F const& f) {
    for (int k = 0; k < n; ++k) f(a.lane[k].x, other.lane[k].x);
  }
  static void count(std::int32_t* place, bool one) { *place += one; }
  static void note_lanes(index_t, index_t) {}
  /// Kernels declare their scalar work, which cannot be measured here either.
  static void note_scalar(simd::scalar_work const& w) {
    auto const n = [](index_t x) { return static_cast<std::uint64_t>(x); };
    counter<double>.add += n(w.add), counter<double>.mul += n(w.mul), counter<double>.compare += n(w.compare),
        counter<double>.convert += n(w.convert);
    counter<std::int32_t>.integer += n(w.integer);
  }
};

/// The instrumentation policy.
class policy {
 public:
  using policy_category = instrumentation_policy_tag;
  static constexpr std::string_view name = "brute force";
  static constexpr instrumentation_traits traits{.serial = true, .observes_arrays = true, .observes_scratch = true};
  template <class Native> using backend = brute::backend<Native::lanes>;

  explicit policy(record& into) : into_(&into) {}

  struct guard {
    record* in;
    bool whole;
    guard(record* r, char const* stage) : in(r), whole(r->depth++ == 0) {
      if (whole) in->begin();
      else in->stages.push_back(stage);
    }
    ~guard() {
      --in->depth;
      if (whole) in->end();
      else in->stages.pop_back();
    }
    guard(guard const&) = delete;
    guard& operator=(guard const&) = delete;
  };
  [[nodiscard]] guard scope(op_info op) const { return {into_, op.name}; }
  [[nodiscard]] guard stage(char const* what) const { return {into_, what}; }
  void allocated(char const*, index_t) const {}
  void released(char const*, index_t) const {}
  template <class T> cursor<T> observe(T* data, array_info info) const {
    return {data, 0, into_->find(data, info, static_cast<int>(sizeof(T))), into_};
  }
  scratch_memory observe_scratch(kernel::scratch_layout const& layout, std::byte* base) const {
    scratch_memory const memory{base, into_};
    into_->scratch.clear();
    for (int i = 0; i < layout.parts(); base += layout[i++].bytes)
      into_->scratch.push_back(into_->find(base, {layout[i].name, array_role::scratch, layout[i].bytes / 4}, 4));
    return memory;
  }

 private:
  record* into_;
};

}  // namespace mbirk::testing::brute
