// Statistical weights of sinogram samples, element by element.
#pragma once

#include "mbirk/definition/weights.hpp"
#include "mbirk/kernel/shared/elementwise.hpp"
#include "mbirk/simd/pack.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// out = 1.
template <class B> struct unit_weights {
  strided_cursor<typename B::template cursor<float>> out;
  elementwise_range w;
  MBIRK_HD void operator()(index_t task) const noexcept {
    for_each_pack<B>(w, task, [&](pack_position p, int n) MBIRK_FLAT { store_lanes<B>(out(p), B::constant(1), n); });
  }
};

/// out = exp(scale y).
template <class B> struct transmission_weights {
  strided_cursor<typename B::template cursor<float const>> sinogram;
  strided_cursor<typename B::template cursor<float>> out;
  float scale;
  elementwise_range w;
  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const factor = B::broadcast(scale);
    for_each_pack<B>(w, task, [&](pack_position p, int n) MBIRK_FLAT {
      store_lanes<B>(out(p), definition::transmission_weight(load_lanes<B>(sinogram(p), n), factor), n);
    });
  }
};

/// out = 1 / (|y| + 0.1).
template <class B> struct emission_weights {
  strided_cursor<typename B::template cursor<float const>> sinogram;
  strided_cursor<typename B::template cursor<float>> out;
  elementwise_range w;
  MBIRK_HD void operator()(index_t task) const noexcept {
    for_each_pack<B>(w, task, [&](pack_position p, int n) MBIRK_FLAT {
      store_lanes<B>(out(p), definition::emission_weight(load_lanes<B>(sinogram(p), n)), n);
    });
  }
};

/// out = exp(y metal) where evidence > threshold, exp(y rest) elsewhere. The evidence is y itself (Self) or another
/// sinogram.
template <class B, bool Self> struct metal_weights {
  strided_cursor<typename B::template cursor<float const>> sinogram, evidence;  // evidence is unused if Self
  strided_cursor<typename B::template cursor<float>> out;
  float threshold, rest, metal;
  elementwise_range w;
  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const limit = B::broadcast(threshold), factor = B::broadcast(rest), metal_factor = B::broadcast(metal);
    for_each_pack<B>(w, task, [&](pack_position p, int n) MBIRK_FLAT {
      auto const y = load_lanes<B>(sinogram(p), n);
      auto const seen = Self ? y : load_lanes<B>(evidence(p), n);
      store_lanes<B>(out(p), definition::metal_weight(y, seen, limit, factor, metal_factor), n);
    });
  }
};

/// out = 1 where in > threshold, else 0.
template <class B> struct above_threshold {
  strided_cursor<typename B::template cursor<float const>> in;
  strided_cursor<typename B::template cursor<float>> out;
  float threshold;
  elementwise_range w;
  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const limit = B::broadcast(threshold);
    for_each_pack<B>(w, task, [&](pack_position p, int n) MBIRK_FLAT {
      store_lanes<B>(out(p), definition::above_threshold(load_lanes<B>(in(p), n), limit), n);
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
