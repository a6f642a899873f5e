// Declarations of the native backend for the device pass of nvcc. That pass also parses host code, which it then drops,
// but rejects vector types in __host__ __device__ functions such as the kernels. The host pass includes pack.hpp
// instead. Nothing here is ever called.
#pragma once

#if defined(__CUDA_ARCH__)

#include <cstdint>

#include "mbirk/core/index.hpp"
#include "mbirk/simd/backend.hpp"

namespace mbirk::simd {
inline namespace MBIRK_VECTORS {

/// Stand-in for packs of any element type.
template <class T, int L> struct named_pack {
  struct condition {
    bool v[L];
    friend condition operator|(condition a, condition) { return a; }
  };
  T v[L];
  named_pack() = default;
  MBIRK_HD explicit named_pack(double);
  MBIRK_HD explicit named_pack(std::int32_t);
};
template <class T, int L> named_pack<T, L> operator+(named_pack<T, L>, named_pack<T, L>);
template <class T, int L> named_pack<T, L> operator-(named_pack<T, L>, named_pack<T, L>);
template <class T, int L> named_pack<T, L> operator*(named_pack<T, L>, named_pack<T, L>);
template <class T, int L> named_pack<T, L> operator/(named_pack<T, L>, named_pack<T, L>);
template <class T, int L> typename named_pack<T, L>::condition operator<(named_pack<T, L>, named_pack<T, L>);
template <class T, int L> typename named_pack<T, L>::condition is_nan(named_pack<T, L>);
template <class T, int L>
named_pack<T, L> select(typename named_pack<T, L>::condition, named_pack<T, L>, named_pack<T, L>);
template <class T, int L> named_pack<T, L> fma(named_pack<T, L>, named_pack<T, L>, named_pack<T, L>);
template <class T, int L> named_pack<T, L> fnma(named_pack<T, L>, named_pack<T, L>, named_pack<T, L>);
template <class T, int L> named_pack<T, L> max(named_pack<T, L>, named_pack<T, L>);
template <class T, int L> named_pack<T, L> min(named_pack<T, L>, named_pack<T, L>);
template <class T, int L> named_pack<T, L> sqrt(named_pack<T, L>);
template <class T, int L> named_pack<T, L> floor(named_pack<T, L>);
template <class T, int L> named_pack<T, L> abs(named_pack<T, L>);
template <class T, int L> named_pack<T, L> atan(named_pack<T, L>);
template <class T, int L> named_pack<T, L> exp(named_pack<T, L>);
template <class T, int L> named_pack<T, L> exp2(named_pack<T, L>);
template <class T, int L> named_pack<T, L> log2(named_pack<T, L>);
template <class T, int L> named_pack<T, L> operator&(named_pack<T, L>, named_pack<T, L>);
template <class T, int L> named_pack<T, L> rotate_left(named_pack<T, L>, int);
template <class T, int L> named_pack<T, L> lookup(named_pack<T, L>, named_pack<std::int32_t, L>);
template <class T, int L> named_pack<T, L> lookup2(named_pack<T, L>, named_pack<T, L>, named_pack<std::int32_t, L>);

template <int L>
struct native : data_backend<native<L>, named_pack<float, L>, named_pack<std::int32_t, L>, named_pack<double, L>> {
  static constexpr int lanes = L;
  using pack = named_pack<float, L>;
  using ints = named_pack<std::int32_t, L>;
  using wide = named_pack<double, L>;
  using sums = wide;

  static pack load(float const*);
  static pack load_once(float const*);
  static pack load_partial(float const*, int);
  static ints load_ints(std::int32_t const*);
  static pack gather(float const*, ints);
  static wide load_wide(double const*);
  template <class T> static void store_value(T*, T);
  static void store(float*, pack);
  static void store_partial(float*, pack, int);
  static void store(std::int32_t*, ints);
  static void store(double*, wide);

  static ints iota();
  static pack first_lanes(index_t);
  static wide to_wide(ints);
  static wide to_wide(pack);
  static ints to_ints(wide);
  static ints to_ints(pack);
  static pack to_pack(wide);
  static pack to_pack_unsigned(ints);

  template <int Step> static pack exchange(pack);
  static float common(pack);
  static void store_total(double*, sums);
  template <class F> static void each_lane(pack, pack, int, F const&);
  static void count(std::int32_t*, bool);
  static void transpose(pack (&)[L]);
};

}  // namespace MBIRK_VECTORS
}  // namespace mbirk::simd

#endif
