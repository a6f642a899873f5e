// The qGGMRF prior at one pixel: gradient and curvature of its voxel column, passed to a consumer pack by pack. With
// w = 1/u = (|d| / (T sigma))^(p - q), t = 1/(1 + w): kappa = a^(p - 2) / sigma^p t (q/p + (1 - q/p) t). One division,
// and nothing can overflow to NaN, because w only grows with |d|. A pair of slices is computed once; its second slice
// takes it from the previous pack by a permutation.
#pragma once

#include <cmath>
#include <cstdint>

#include "mbirk/prior/parameters.hpp"
#include "mbirk/simd/pack.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Pixels per task of a kernel that does little more than evaluate the prior: about 20 microseconds for 128 slices.
inline constexpr index_t prior_batch = 32;

/// Constants of the prior for the kernels, computed in double.
struct qggmrf_constants {
  /// b kappa = (a / (T sigma))^(p - 2) t (linear + square t); at_zero = b kappa(0).
  struct axis { float at_zero, linear, square; };

  explicit qggmrf_constants(qggmrf_parameters const& v)
      : inverse_scale(static_cast<float>(1 / (v.T * v.sigma_x))), exponent(static_cast<float>(v.p - v.q)),
        steep(static_cast<float>(v.p - 2)), quadratic(v.p == 2), row(make(v, 0)), col(make(v, 1)), slice(make(v, 2)) {}

  static constexpr double floor = 0x1p-23;  ///< lower bound of |d| / (T sigma)
  float inverse_scale, exponent, steep;
  bool quadratic;
  axis row, col, slice;

 private:
  static axis make(qggmrf_parameters const& v, int n) {
    double const scale = neighbour_weight(v, n) * std::pow(v.T, v.p - 2) / (v.sigma_x * v.sigma_x), ratio = v.q / v.p;
    double const t = 1 / (1 + std::pow(floor, v.p - v.q));
    return {static_cast<float>(scale * std::pow(floor, v.p - 2) * t * (ratio + (1 - ratio) * t)),
            static_cast<float>(scale * ratio), static_cast<float>(scale * (1 - ratio))};
  }
};

template <class B> struct qggmrf_cylinder {
  using pack = typename B::pack;

  typename B::template cursor<float const> recon;
  index_t row_count, col_count, slices, row_stride, col_stride;
  qggmrf_constants constants;

  /// Calls sink(k, x, g, h, valid) for k = 0, lanes, ...: voxels, gradient and curvature of `valid` slices from k on;
  /// the remaining lanes hold finite numbers.
  template <class Sink> MBIRK_INLINE void operator()(index_t i, index_t j, Sink const& sink) const noexcept {
    if (constants.quadratic) run<true>(i, j, sink);
    else run<false>(i, j, sink);
  }

 private:
  struct axis_packs { pack at_zero, linear, square; };
  struct packs {
    pack inverse_scale, exponent, steep;
    axis_packs row, col, slice;
    typename B::ints before;  // index of lane k - 1 in two packs
  };
  static MBIRK_INLINE axis_packs broadcast(qggmrf_constants::axis const& a) {
    return {B::broadcast(a.at_zero), B::broadcast(a.linear), B::broadcast(a.square)};
  }

  template <bool Quadratic> static MBIRK_INLINE pack curvature(packs const& c, axis_packs const& a, pack difference) {
    pack const size = log2(max(abs(difference) * c.inverse_scale, B::constant(qggmrf_constants::floor)));
    pack const t = B::constant(1) / (B::constant(1) + exp2(c.exponent * size));
    pack const kappa = t * fma(a.square, t, a.linear);
    if constexpr (Quadratic) return kappa;
    else return kappa * exp2(c.steep * size);
  }

  template <bool Quadratic, class Sink> MBIRK_INLINE void run(index_t i, index_t j, Sink const& sink) const noexcept {
    packs const c{B::broadcast(constants.inverse_scale), B::broadcast(constants.exponent),
                  B::broadcast(constants.steep), broadcast(constants.row), broadcast(constants.col),
                  broadcast(constants.slice), B::iota() + B::broadcast(std::int32_t{B::lanes - 1})};
    auto const centre = recon + (i * row_stride + j * col_stride);
    bool const has[] = {i > 0, i + 1 < row_count, j > 0, j + 1 < col_count};
    index_t const offset[] = {-row_stride, row_stride, -col_stride, col_stride};

    // Curvature and force of the pair of slices across the start of this pack.
    pack pair_before = c.slice.at_zero, force_before = B::constant(0);
    // up: voxel minus the voxel of the next slice, 0 if there is none
    auto const step = [&](index_t k, pack x, pack up, auto const& read, index_t valid) MBIRK_FLAT {
      pack const pair = curvature<Quadratic>(c, c.slice, up), force = pair * up;
      pack h = pair + lookup2(pair_before, pair, c.before), g = force - lookup2(force_before, force, c.before);
      pair_before = pair;
      force_before = force;
      for (int n = 0; n < 4; ++n) {
        axis_packs const& a = n < 2 ? c.row : c.col;
        if (has[n]) {
          pack const d = x - read(centre + (offset[n] + k)), b = curvature<Quadratic>(c, a, d);
          g = fma(b, d, g);
          h = h + b;
        } else {
          h = h + a.at_zero;
        }
      }
      sink(k, x, g, h, valid);
    };
    index_t k = 0;
    for (; k + B::lanes < slices; k += B::lanes) {
      pack const x = B::load_once(centre + k);
      step(k, x, x - B::load(centre + (k + 1)), [](auto from) MBIRK_FLAT { return B::load(from); }, B::lanes);
    }
    int const left = static_cast<int>(slices - k);
    if (left == 0) return;
    pack const x = B::load_partial(centre + k, left);
    pack const above = left > 1 ? B::load_partial(centre + (k + 1), left - 1) : B::constant(0);
    step(k, x, (x - above) * B::first_lanes(left - 1), [&](auto from) MBIRK_FLAT {
      return B::load_partial(from, left);
    }, left);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
