// Operations derived from those of any backend: partial packs at the end of a row, where only the first n lanes hold
// elements, and reductions over the lanes.
#pragma once

#include <bit>

#include "mbirk/core/index.hpp"
#include "mbirk/simd/vector.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Number of valid lanes in the pack that starts at element k of a row.
template <class B>
MBIRK_INLINE index_t valid_lanes(index_t k, index_t length) { return length - k < B::lanes ? length - k : B::lanes; }

template <class B, class Cursor> MBIRK_INLINE typename B::pack load_lanes(Cursor at, index_t n) {
  return n == B::lanes ? B::load(at) : B::load_partial(at, static_cast<int>(n));
}
template <class B, class Cursor> MBIRK_INLINE void store_lanes(Cursor at, typename B::pack x, index_t n) {
  if (n == B::lanes) B::store(at, x);
  else B::store_partial(at, x, static_cast<int>(n));
}
/// Makes what the lanes of a warp have stored visible to its other lanes, and lets them store again what those have
/// read. A vector needs nothing for it. Kernels call it where a lane loads what another lane has stored.
template <class B> MBIRK_INLINE void order_lanes() {
  if constexpr (requires { B::order_lanes(); }) B::order_lanes();
}

/// x in the first n lanes, 0 in the invalid lanes, which must not enter a sum but must be finite (they are multiplied
/// by 0). n may exceed the number of lanes.
template <class B>
MBIRK_INLINE typename B::pack masked(typename B::pack x, index_t n) {
  return n >= B::lanes ? x : x * B::first_lanes(n);
}
/// x in the first n lanes, `other` in the invalid lanes.
template <class B> MBIRK_INLINE typename B::pack masked(typename B::pack x, typename B::pack other, index_t n) {
  return n == B::lanes ? x : select(B::constant(0) < B::first_lanes(n), x, other);
}

/// Pack with the order of its lanes reversed.
template <class B> MBIRK_INLINE typename B::pack reversed(typename B::pack x) {
  return lookup(x, B::iota() * B::broadcast(std::int32_t{-1}) + B::broadcast(std::int32_t{B::lanes - 1}));
}

/// log2 of the number of lanes.
template <class B> inline constexpr int lane_rounds = std::bit_width(static_cast<unsigned>(B::lanes)) - 1;

/// Result of an operation on all lanes, which exchanges them at distances 1, 2, 4 ...
template <class B, class F> MBIRK_INLINE float reduce_lanes(typename B::pack x, F const& f) {
  simd::static_for<lane_rounds<B>>([&](auto round) MBIRK_FLAT {
    x = f(x, B::template exchange<1 << round>(x));
  });
  return B::common(x);
}
template <class B> MBIRK_INLINE float reduce_max(typename B::pack x) {
  return reduce_lanes<B>(x, [](auto a, auto b) MBIRK_FLAT { return max(a, b); });
}
template <class B> MBIRK_INLINE float reduce_min(typename B::pack x) {
  return reduce_lanes<B>(x, [](auto a, auto b) MBIRK_FLAT { return min(a, b); });
}

/// Copies `length` elements of a row and pads with zeros up to `width`, a multiple of the lanes.
template <class B, class From, class To>
MBIRK_INLINE void copy_padded(From from, index_t length, To to, index_t width) {
  for (index_t k = 0; k < width; k += B::lanes) {
    index_t const left = length - k;
    B::store(to + k, left >= B::lanes ? B::load(from + k)
                     : left > 0       ? B::load_partial(from + k, static_cast<int>(left))
                                      : B::constant(0));
  }
}

/// Copies `length` elements from a row that is padded to whole packs.
template <class B, class From, class To> MBIRK_INLINE void copy_unpadded(From from, To to, index_t length) {
  for (index_t k = 0; k < length; k += B::lanes) store_lanes<B>(to + k, B::load(from + k), valid_lanes<B>(k, length));
}

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
