// The plain machine: runs a definition as ordinary loops. In double it is the oracle of every tuned kernel.
// A definition names only what a machine offers and never branches on a computed value, so that a recording, counting or fixed-point machine can run
// the same text: trip counts are known beforehand, taps that do not exist have weight 0, and loads are clamped into their array.
#pragma once

#include <array>
#include <concepts>
#include <tuple>

#include "mbirk/core/view.hpp"
#include "mbirk/definition/footprint.hpp"

namespace mbirk::definition {

using std::cos;
using std::sin;

/// A named loop: what a stage runs over.
struct axis { char const* name; index_t extent; };

/// A whole number as a T, and the whole number that a T holds (floor or ceil it first).
template <std::floating_point T> T as(index_t n) { return static_cast<T>(n); }
inline index_t as_index(double x) { return static_cast<index_t>(x); }

/// An array that a definition reads. Reals come as the machine's scalar, whole numbers as its index.
template <class T, class E, int Rank> struct plain_input {
  using value = std::conditional_t<std::integral<E>, index_t, T>;
  view<E const, Rank> data;
  template <class... I> value at(I... i) const { return static_cast<value>(data(i...)); }
  /// The element, with every index clamped into the array (0 where the array is empty). The weight beside it decides; the load never leaves the array.
  template <class... I> value clamped(I... i) const {
    if (data.size() == 0) return value{};
    int d = 0;
    auto const clamp = [&](index_t n) { return min(max(n, index_t{0}), data.extent(d++) - 1); };
    std::array<index_t, Rank> const inside{clamp(i)...};  // braces: clamped in this order
    return static_cast<value>(std::apply([&](auto... c) { return data(c...); }, inside));
  }
};

template <class T> class plain_interpreter {
 public:
  using real = T;
  using index = index_t;

  /// An array to read. The name is for machines that record.
  template <class E, int Rank> plain_input<T, std::remove_const_t<E>, Rank> input(view<E, Rank> v, char const* = "") const { return {v}; }

  /// A stage: f(i...) for every index, in any order; stages run one after the other.
  template <class F> void each(char const*, axis a, F const& f) const {
    for (index_t i = 0; i < a.extent; ++i) f(i);
  }
  template <class F> void each(char const* stage, axis a, axis b, F const& f) const {
    each(stage, a, [&](index_t i) { each(stage, b, [&](index_t j) { f(i, j); }); });
  }
  template <class F> void each(char const* stage, axis a, axis b, axis c, F const& f) const {
    each(stage, a, [&](index_t i) { each(stage, b, c, [&](index_t j, index_t k) { f(i, j, k); }); });
  }
  /// f(0) + f(1) + ... ; 0 when the axis is empty.
  template <class F> T sum(char const*, index_t extent, F const& f) const {
    if (extent == 0) return T(0.0);
    T total = f(index_t{0});
    for (index_t i = 1; i < extent; ++i) total = total + f(i);
    return total;
  }
  /// The same over a few footprint taps.
  template <class F> T taps(char const* name, index_t extent, F const& f) const { return sum(name, extent, f); }
  /// Statements repeated along a small axis.
  template <class F> void loop(char const*, index_t extent, F const& f) const {
    for (index_t i = 0; i < extent; ++i) f(i);
  }
  /// A named value: where an unfused form would make an array.
  T let(char const*, T x) const { return x; }

  template <class E, int Rank, class... I> void store(view<E, Rank> a, T x, I... i) const {
    if (inside(a, i...)) a(i...) = static_cast<E>(x);
  }
  /// Adds; outside the array the contribution is dropped.
  template <class E, int Rank, class... I> void add(view<E, Rank> a, T x, I... i) const {
    if (inside(a, i...)) a(i...) += static_cast<E>(x);
  }

 private:
  template <class E, int Rank, class... I> static bool inside(view<E, Rank> const& a, I... i) {
    int d = 0;
    bool ok = true;
    ((ok = ok && i >= 0 && i < a.extent(d), ++d), ...);
    return ok;
  }
};

/// The cell that a left edge lies in: the first one that its footprint can hit.
template <class T> auto first_cell(T edge) { return as_index(floor(edge)); }
/// How many cells a footprint of this width can hit.
inline index_t tap_count(double widest) { return static_cast<index_t>(std::ceil(widest)) + 1; }

/// A weight where cell n exists, else 0.
template <class T, class I> T within(I n, index_t cells, T weight) { return select((n >= I(0)) & (n < I(cells)), weight, T(0.0)); }

/// x^q for q = 1, 2.
template <class T> T power(T x, int q) { return q == 2 ? x * x : x; }

/// The angles and the z shifts of a scan's views as a definition reads them.
template <class M, class Scan> auto view_angles(M& m, Scan const& s) {
  return m.input(view<float const, 1>(s.angles().data(), {s.geometry().views}), "angles");
}
template <class M, class Scan> auto view_shifts(M& m, Scan const& s) {
  return m.input(view<float const, 1>(s.z_shifts().data(), {s.geometry().views}), "z_shifts");
}

}  // namespace mbirk::definition
