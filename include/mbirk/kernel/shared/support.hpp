// Sums over the support of an object in a sinogram: the samples that are at least a threshold.
#pragma once

#include "mbirk/kernel/shared/elementwise.hpp"
#include "mbirk/simd/pack.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Sums over the samples y >= threshold: w y^2, their number, and |y|. Three numbers per task, in double.
template <class B, bool Weighted> struct support_sums {
  static constexpr index_t numbers = 3;
  strided_cursor<typename B::template cursor<float const>> sinogram, weights;  // weights are unused unless Weighted
  typename B::template cursor<double> partial;
  float threshold;
  elementwise_range w;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const limit = B::broadcast(threshold), zero = B::constant(0), one = B::constant(1);
    auto square = B::no_sum(), number = B::no_sum(), size = B::no_sum();
    for_each_pack<B>(w, task, [&](pack_position p, int n) MBIRK_FLAT {
      auto const y = load_lanes<B>(sinogram(p), n);
      auto const inside = masked<B>(select(y < limit, zero, one), zero, n);
      auto const seen = B::widen(y * inside);
      auto const weighted = Weighted ? seen * B::widen(load_lanes<B>(weights(p), n)) : seen;
      square = fma(weighted, seen, square);
      number = number + B::widen(inside);
      size = size + B::widen(abs(y * inside));
    });
    auto const out = partial + task * numbers;
    B::store_total(out, square);
    B::store_total(out + 1, number);
    B::store_total(out + 2, size);
  }
};

/// Number of rows of a view whose first, and whose last, channel is >= threshold. A task is a view and writes two
/// numbers.
template <class B> struct edge_support {
  typename B::template cursor<float const> sinogram;
  index_t view_stride, row_stride, rows, channels;
  typename B::template cursor<double> partial;
  float threshold;

  MBIRK_HD void operator()(index_t view) const noexcept {
    auto const limit = B::broadcast(threshold), zero = B::constant(0), one = B::first_lanes(1);
    auto first = B::no_sum(), last = B::no_sum();
    for (index_t m = 0; m < rows; ++m) {
      auto const row = sinogram + (view * view_stride + m * row_stride);
      first = first + B::widen(select(B::load_partial(row, 1) < limit, zero, one));
      last = last + B::widen(select(B::load_partial(row + (channels - 1), 1) < limit, zero, one));
    }
    B::store_total(partial + 2 * view, first);
    B::store_total(partial + (2 * view + 1), last);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
