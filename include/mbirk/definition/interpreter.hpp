// The plain interpreter runs a definition as ordinary loops. In double precision it is the reference for every tuned
// kernel. A definition uses only the interface of an interpreter and never branches on a computed value, so that
// recording, counting and fixed-point interpreters can run it unchanged: trip counts are known beforehand, taps outside
// the array have weight 0, and loads are clamped into their array.
#pragma once

#include <array>
#include <concepts>
#include <tuple>

#include "mbirk/core/view.hpp"
#include "mbirk/definition/footprint.hpp"

namespace mbirk::definition {

using std::cos;
using std::sin;

/// Named loop axis of a stage.
struct axis { char const* name; index_t extent; };

/// Conversions between whole numbers and scalars; as_index truncates, so apply floor or ceil first.
template <std::floating_point T> T as(index_t n) { return static_cast<T>(n); }
inline index_t as_index(double x) { return static_cast<index_t>(x); }

/// Input array of a definition. Reals are converted to the interpreter's scalar, whole numbers to its index.
template <class T, class E, int Rank> struct plain_input {
  using value = std::conditional_t<std::integral<E>, index_t, T>;
  view<E const, Rank> data;
  template <class... I> value at(I... i) const { return static_cast<value>(data(i...)); }
  /// Element with every index clamped into the array; 0 if the array is empty. The load never leaves the array; the
  /// caller multiplies out-of-range elements by weight 0.
  template <class... I> value clamped(I... i) const {
    if (data.size() == 0) return value{};
    int d = 0;
    auto const clamp = [&](index_t n) { return min(max(n, index_t{0}), data.extent(d++) - 1); };
    std::array<index_t, Rank> const inside{clamp(i)...};  // braces guarantee left-to-right evaluation
    return static_cast<value>(std::apply([&](auto... c) { return data(c...); }, inside));
  }
};

template <class T> class plain_interpreter {
 public:
  using real = T;
  using index = index_t;

  /// Input array. The name is for interpreters that record.
  template <class E, int Rank>
  plain_input<T, std::remove_const_t<E>, Rank> input(view<E, Rank> v, char const* = "") const { return {v}; }

  /// Stage: f(i...) for every index, in any order; stages run one after the other.
  template <class F> void each(char const*, axis a, F const& f) const {
    for (index_t i = 0; i < a.extent; ++i) f(i);
  }
  template <class F> void each(char const* stage, axis a, axis b, F const& f) const {
    each(stage, a, [&](index_t i) { each(stage, b, [&](index_t j) { f(i, j); }); });
  }
  template <class F> void each(char const* stage, axis a, axis b, axis c, F const& f) const {
    each(stage, a, [&](index_t i) { each(stage, b, c, [&](index_t j, index_t k) { f(i, j, k); }); });
  }
  /// f(0) + f(1) + ... ; 0 if the axis is empty.
  template <class F> T sum(char const*, index_t extent, F const& f) const {
    if (extent == 0) return T(0.0);
    T total = f(index_t{0});
    for (index_t i = 1; i < extent; ++i) total = total + f(i);
    return total;
  }
  /// Sum over a few footprint taps.
  template <class F> T taps(char const* name, index_t extent, F const& f) const { return sum(name, extent, f); }
  /// Sequential loop over a small axis.
  template <class F> void loop(char const*, index_t extent, F const& f) const {
    for (index_t i = 0; i < extent; ++i) f(i);
  }
  /// Names a value that a staged implementation would store in an array.
  T let(char const*, T x) const { return x; }

  template <class E, int Rank, class... I> void store(view<E, Rank> a, T x, I... i) const {
    if (inside(a, i...)) a(i...) = static_cast<E>(x);
  }
  /// Adds x to the element; contributions outside the array are dropped.
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

/// Cell that contains a left edge: the first cell of the footprint.
template <class T> auto first_cell(T edge) { return as_index(floor(edge)); }
/// Maximum number of cells that a footprint of this width overlaps.
inline index_t tap_count(double widest) { return static_cast<index_t>(std::ceil(widest)) + 1; }

/// weight if cell n exists, else 0.
template <class T, class I>
T within(I n, index_t cells, T weight) { return select((n >= I(0)) & (n < I(cells)), weight, T(0.0)); }

/// x^q for q = 1, 2.
template <class T> T power(T x, int q) { return q == 2 ? x * x : x; }

/// The operators of a geometry; specialised next to their formulas. Static members, with the shapes of
/// definition/parallel.hpp:
///   forward(m, s, x, pixels, count, y)            y += A x over the listed pixels; y must be zero on entry
///   back(m, s, y, pixels, count, coeff_power, x)  x = A' y at these pixels, with the weights of A to the power 1 or 2
template <class Geometry> struct operators;

/// Angles and z shifts of a scan's views as inputs of a definition.
template <class M, class Scan> auto view_angles(M& m, Scan const& s) {
  return m.input(view<float const, 1>(s.angles().data(), {s.geometry().views}), "angles");
}
template <class M, class Scan> auto view_shifts(M& m, Scan const& s) {
  return m.input(view<float const, 1>(s.z_shifts().data(), {s.geometry().views}), "z_shifts");
}

}  // namespace mbirk::definition
