// qGGMRF prior as stand-alone operations: gradient and curvature at listed pixels, and the loss of an image.
#pragma once

#include <cmath>
#include <cstdint>

#include "mbirk/kernel/shared/qggmrf_cylinder.hpp"
#include "mbirk/kernel/shared/vcd.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Gradient g and curvature h at listed pixels, as arrays (pixels, slices). A task is a batch of the list.
template <class B> struct qggmrf_at_pixels {
  using I = typename B::index_backend;
  qggmrf_cylinder<B> prior;
  typename I::template cursor<std::int32_t const> pixels;
  index_t count;
  typename B::template cursor<float> gradient, hessian;
  index_t gradient_stride, hessian_stride;  // between successive pixels

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const first = task * prior_batch, last = min(count, first + prior_batch);
    for (index_t n = first; n < last; ++n) {
      index_t const pixel = I::load_value(pixels + n);
      auto const to_gradient = gradient + n * gradient_stride, to_hessian = hessian + n * hessian_stride;
      prior(pixel / prior.col_count, pixel % prior.col_count,
            [&](index_t k, auto, auto g, auto h, index_t valid) MBIRK_FLAT {
        store_lanes<B>(to_gradient + k, g, valid);
        store_lanes<B>(to_hessian + k, h, valid);
      });
    }
    B::note_lanes((last - first) * prior.slices, (last - first) * round_up(prior.slices, B::lanes));
  }
};

/// Sum of b rho(difference) over the pairs of each voxel with its next row, column and slice: rho = T^p / p s^p t, with
/// s and t as in qggmrf_cylinder.hpp. A task is a batch of consecutive pixels.
template <class B> struct qggmrf_loss_sum {
  using pack = typename B::pack;

  typename B::template cursor<float const> recon;
  index_t row_count, col_count, slices, row_stride, col_stride;
  float inverse_scale, exponent, power;
  float row, col, slice;                        // b T^p / p of each axis
  bool quadratic;
  typename B::template cursor<double> partial;  // one per task

  void set(qggmrf_parameters const& v) {
    auto const scale = [&](int axis) {
      return static_cast<float>(neighbour_weight(v, axis) * std::pow(v.T, v.p) / v.p);
    };
    inverse_scale = static_cast<float>(1 / (v.T * v.sigma_x));
    exponent = static_cast<float>(v.p - v.q);
    power = static_cast<float>(v.p);
    row = scale(0);
    col = scale(1);
    slice = scale(2);
    quadratic = v.p == 2;
  }

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const first = task * prior_batch, last = min(row_count * col_count, first + prior_batch);
    auto total = B::no_sum();
    for (index_t p = first; p < last; ++p) total = quadratic ? cylinder<true>(p, total) : cylinder<false>(p, total);
    B::store_total(partial + task, total);
    B::note_lanes((last - first) * slices, (last - first) * round_up(slices, B::lanes));
  }

 private:
  template <bool Quadratic> MBIRK_INLINE pack potential(pack difference) const noexcept {
    pack const size = max(abs(difference) * B::broadcast(inverse_scale), B::constant(qggmrf_constants::floor)),
        log = log2(size);
    pack const t = B::constant(1) / (B::constant(1) + exp2(B::broadcast(exponent) * log));
    if constexpr (Quadratic) return size * size * t;
    else return exp2(B::broadcast(power) * log) * t;
  }
  template <bool Quadratic> MBIRK_INLINE typename B::sums cylinder(index_t p, typename B::sums total) const noexcept {
    index_t const i = p / col_count, j = p % col_count;
    auto const centre = recon + (i * row_stride + j * col_stride);
    for (index_t k = 0; k < slices; k += B::lanes) {
      index_t const n = valid_lanes<B>(k, slices), pairs = min<index_t>(n, slices - k - 1);
      pack const x = load_lanes<B>(centre + k, n);
      pack sum = B::constant(0);
      if (i + 1 < row_count)
        sum = B::broadcast(row) * potential<Quadratic>(x - load_lanes<B>(centre + (row_stride + k), n));
      if (j + 1 < col_count)
        sum = fma(B::broadcast(col), potential<Quadratic>(x - load_lanes<B>(centre + (col_stride + k), n)), sum);
      sum = masked<B>(sum, n);
      if (pairs > 0) {
        pack const along = potential<Quadratic>(x - load_lanes<B>(centre + (k + 1), pairs));
        sum = fma(B::broadcast(slice), masked<B>(along, pairs), sum);
      }
      total = total + B::widen(sum);
    }
    return total;
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
