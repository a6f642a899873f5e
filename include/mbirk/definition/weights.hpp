// Statistical weights of sinogram samples: formulas, and gen_weights as a template over an interpreter.
#pragma once

#include <array>
#include <cmath>

#include "mbirk/definition/interpreter.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::definition {

using std::exp;

/// exp(scale y): the transmitted photon fraction for scale = -1, its square root for scale = -1/2.
template <class T> MBIRK_HD MBIRK_INLINE T transmission_weight(T y, T scale) noexcept { return exp(y * scale); }
/// 1 / (|y| + 0.1).
template <class T> MBIRK_HD MBIRK_INLINE T emission_weight(T y) noexcept { return T(1.0) / (abs(y) + T(0.1)); }
/// 1 where x > threshold, else 0.
template <class T> MBIRK_HD MBIRK_INLINE T above_threshold(T x, T threshold) noexcept {
  return select(threshold < x, T(1.0), T(0.0));
}
/// exp(metal y) where evidence > threshold, exp(rest y) elsewhere.
template <class T> MBIRK_HD MBIRK_INLINE T metal_weight(T y, T evidence, T threshold, T rest, T metal) noexcept {
  return transmission_weight(y, select(threshold < evidence, metal, rest));
}

/// out = exp(scale y), sample by sample; shape is (views, rows, channels).
template <class M, class Sinogram, class Output>
void transmission_weights(M& m, std::array<index_t, 3> const& shape, double scale, Sinogram y, Output out) {
  using T = typename M::real;
  using I = typename M::index;
  m.each("weights", {"view", shape[0]}, {"row", shape[1]}, {"channel", shape[2]},
         [&](I v, I r, I n) { m.store(out, transmission_weight(y.at(v, r, n), T(scale)), v, r, n); });
}

}  // namespace mbirk::definition

MBIRK_KERNELS_END
