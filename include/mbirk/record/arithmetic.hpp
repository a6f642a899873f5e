// The arithmetics in which a graph can be evaluated: float32, double, or fixed point of any word length.
#pragma once

#include <cmath>
#include <cstdint>

namespace mbirk::record {

/// Fixed point with `width` bits, `whole` of which (including the sign) are before the point. Overflow wraps and bits
/// below the last one are dropped (rounding towards minus infinity), like the default of ap_fixed<W, I> (AMD UG1399).
/// Functions (sin, sqrt, exp, ...) are computed in double and rounded the same way.
struct fixed_format {
  int width = 32, whole = 16;
  int fraction() const noexcept { return width - whole; }
  friend bool operator==(fixed_format const&, fixed_format const&) = default;
};

namespace detail {

/// Reals are stored as double and rounded to Real after every operation; integers are exact.
template <class Real> struct float_arithmetic {
  using value = double;
  static double round(double x) noexcept { return static_cast<double>(static_cast<Real>(x)); }
  double real(double x) const noexcept { return round(x); }
  double whole(std::int64_t n) const noexcept { return static_cast<double>(n); }
  std::int64_t index(double x) const noexcept { return static_cast<std::int64_t>(x); }
  double to_double(double x) const noexcept { return x; }
  double to_real(double n) const noexcept { return round(n); }
  double to_index(double x) const noexcept { return std::trunc(x); }
  double add(double a, double b) const noexcept { return round(a + b); }
  double sub(double a, double b) const noexcept { return round(a - b); }
  double mul(double a, double b) const noexcept { return round(a * b); }
  double div(double a, double b) const noexcept { return round(a / b); }
  double floor(double a) const noexcept { return std::floor(a); }
  double ceil(double a) const noexcept { return std::ceil(a); }
  template <class F> double function(F const& f, double a) const noexcept {
    return static_cast<double>(f(static_cast<Real>(a)));
  }
};

struct fixed_arithmetic {
  using value = std::int64_t;
  fixed_format format;
  double one, unit;  // 2^fraction and its inverse: multiplying by them is exact, and much faster than std::ldexp

  explicit fixed_arithmetic(fixed_format const& f)
      : format(f), one(std::ldexp(1.0, f.fraction())), unit(std::ldexp(1.0, -f.fraction())) {}
  std::int64_t wrap(__int128 x) const noexcept {
    int const unused = 64 - format.width;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(x) << unused) >> unused;
  }
  std::int64_t real(double x) const noexcept { return wrap(static_cast<__int128>(std::floor(x * one))); }
  std::int64_t whole(std::int64_t n) const noexcept { return n; }
  std::int64_t index(std::int64_t x) const noexcept { return x; }
  double to_double(std::int64_t x) const noexcept { return static_cast<double>(x) * unit; }
  std::int64_t to_real(std::int64_t n) const noexcept { return wrap(static_cast<__int128>(n) << format.fraction()); }
  std::int64_t to_index(std::int64_t x) const noexcept { return x >> format.fraction(); }
  std::int64_t add(std::int64_t a, std::int64_t b) const noexcept { return wrap(static_cast<__int128>(a) + b); }
  std::int64_t sub(std::int64_t a, std::int64_t b) const noexcept { return wrap(static_cast<__int128>(a) - b); }
  std::int64_t mul(std::int64_t a, std::int64_t b) const noexcept {
    return wrap((static_cast<__int128>(a) * b) >> format.fraction());
  }
  std::int64_t div(std::int64_t a, std::int64_t b) const noexcept {
    if (b == 0) return 0;
    __int128 const x = static_cast<__int128>(a) << format.fraction();
    __int128 const q = x / b;
    return wrap(q - ((x % b != 0 && (x < 0) != (b < 0)) ? 1 : 0));
  }
  std::int64_t floor(std::int64_t a) const noexcept { return a >> format.fraction() << format.fraction(); }
  std::int64_t ceil(std::int64_t a) const noexcept { return wrap(-static_cast<__int128>(floor(-a))); }
  template <class F> std::int64_t function(F const& f, std::int64_t a) const noexcept { return real(f(to_double(a))); }
};

}  // namespace detail

}  // namespace mbirk::record
