// Source text of the fixed-point type in hand-off programs. It is plain C++14 without a library, so that ap_fixed can
// replace it. Its arithmetic matches fixed_format in arithmetic.hpp bit for bit.
#pragma once

namespace mbirk::record {

inline constexpr char const* fixed_source =
    R"(// fixed<W, I>: W bits, I of them (including the sign) before the point, at most 62 bits. Overflow wraps and
// bits below the last one are dropped, like the default of ap_fixed<W, I>. sin, sqrt, exp and other functions are
// computed in double and rounded the same way: in hardware, use a table or a CORDIC.
#pragma once

#include <cmath>

template <int W, int I> struct fixed {
  static const int fraction = W - I;
  long long raw;

  fixed() : raw(0) {}
  fixed(double x) : raw(wrap(static_cast<__int128>(std::floor(std::ldexp(x, fraction))))) {}
  fixed(float x) : raw(fixed(static_cast<double>(x)).raw) {}
  fixed(int n) : raw(wrap(static_cast<__int128>(n) * (static_cast<__int128>(1) << fraction))) {}
  template <int V, int J> explicit fixed(const fixed<V, J>& other) : raw(fixed(static_cast<double>(other)).raw) {}
  explicit operator double() const { return std::ldexp(static_cast<double>(raw), -fraction); }
  explicit operator int() const { return static_cast<int>(raw >> fraction); }

  static fixed of(__int128 r) {
    fixed f;
    f.raw = wrap(r);
    return f;
  }
  static long long wrap(__int128 x) {
    return static_cast<long long>(static_cast<unsigned long long>(x) << (64 - W)) >> (64 - W);
  }

  friend fixed operator+(fixed a, fixed b) { return of(static_cast<__int128>(a.raw) + b.raw); }
  friend fixed operator-(fixed a, fixed b) { return of(static_cast<__int128>(a.raw) - b.raw); }
  friend fixed operator*(fixed a, fixed b) { return of((static_cast<__int128>(a.raw) * b.raw) >> fraction); }
  friend fixed operator/(fixed a, fixed b) {
    if (b.raw == 0) return fixed();
    const __int128 x = static_cast<__int128>(a.raw) * (static_cast<__int128>(1) << fraction);
    return of(x / b.raw - ((x % b.raw != 0 && (x < 0) != (b.raw < 0)) ? 1 : 0));
  }
  friend bool operator<(fixed a, fixed b) { return a.raw < b.raw; }
  friend bool operator<=(fixed a, fixed b) { return a.raw <= b.raw; }
  friend bool operator==(fixed a, fixed b) { return a.raw == b.raw; }
  friend fixed abs(fixed a) { return a.raw < 0 ? fixed() - a : a; }
  friend fixed floor(fixed a) { return of(a.raw >> fraction << fraction); }
  friend fixed ceil(fixed a) { return of(-static_cast<__int128>((-a.raw) >> fraction << fraction)); }
  friend fixed sqrt(fixed a) { return fixed(std::sqrt(static_cast<double>(a))); }
  friend fixed exp(fixed a) { return fixed(std::exp(static_cast<double>(a))); }
  friend fixed log(fixed a) { return fixed(std::log(static_cast<double>(a))); }
  friend fixed exp2(fixed a) { return fixed(std::exp2(static_cast<double>(a))); }
  friend fixed log2(fixed a) { return fixed(std::log2(static_cast<double>(a))); }
  friend fixed sin(fixed a) { return fixed(std::sin(static_cast<double>(a))); }
  friend fixed cos(fixed a) { return fixed(std::cos(static_cast<double>(a))); }
  friend fixed atan(fixed a) { return fixed(std::atan(static_cast<double>(a))); }
};
)";

}  // namespace mbirk::record
