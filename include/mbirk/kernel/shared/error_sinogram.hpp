// Passes of an iterative reconstruction over channel-major sinograms and over the volume, outside of the projections. A
// task is one view of one chunk, or a block of voxels. Samples beyond the detector are zero in every array except a
// fresh projection, where these kernels mask them.
#pragma once

#include "mbirk/kernel/shared/epilogue.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

// Terms of sums over a channel-major sinogram: add(k, valid, so_far) adds those of the pack at offset k, of which
// `valid` lanes are rows.

/// w z y
template <class B, bool Weighted> struct data_product {
  typename B::template cursor<float const> projection, sinogram, weights;
  MBIRK_INLINE typename B::pack operator()(index_t k, index_t valid, typename B::pack so_far) const noexcept {
    auto const z = masked<B>(B::load(projection + k), valid);
    return fma(Weighted ? z * B::load(weights + k) : z, B::load(sinogram + k), so_far);
  }
};
/// w z^2
template <class B, bool Weighted> struct norm_product {
  typename B::template cursor<float const> projection, weights;
  MBIRK_INLINE typename B::pack operator()(index_t k, index_t valid, typename B::pack so_far) const noexcept {
    auto const z = masked<B>(B::load(projection + k), valid);
    return fma(Weighted ? z * B::load(weights + k) : z, z, so_far);
  }
};
/// w e^2 = (w e)^2 / w; samples of weight 0 are skipped
template <class B, bool Weighted> struct error_square {
  typename B::template cursor<float const> error, weights;
  MBIRK_INLINE typename B::pack operator()(index_t k, index_t, typename B::pack so_far) const noexcept {
    auto const e = B::load(error + k);
    if constexpr (Weighted) {
      auto const w = B::load(weights + k);
      return so_far + select(B::constant(0) < w, e * (e / w), B::constant(0));
    } else {
      return fma(e, e, so_far);
    }
  }
};
/// The samples themselves.
template <class B> struct sample {
  typename B::template cursor<float const> values;
  MBIRK_INLINE typename B::pack operator()(index_t k, index_t, typename B::pack so_far) const noexcept {
    return so_far + B::load(values + k);
  }
};

/// Partial sums of w z y and w z^2, two per task, for the least-squares scale of a projection z to the sinogram y.
template <class B, bool Weighted> struct projection_products {
  typename B::template cursor<float const> projection, sinogram, weights;
  typename B::template cursor<double> partial;
  chunked_shape shape;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const at = task * shape.view_size(), used = shape.used(task / shape.views);
    data_product<B, Weighted> const data{projection, sinogram, weights};
    norm_product<B, Weighted> const itself{projection, weights};
    auto with_data = B::no_sum(), with_itself = B::no_sum();
    for (index_t n = guard_channels; n < guard_channels + shape.channels; ++n) {
      auto a = B::constant(0), b = B::constant(0);  // float within a channel, double across channels
      for (index_t r = 0; r < shape.width; r += B::lanes) {
        index_t const k = at + n * shape.width + r;
        a = data(k, used - r, a);
        b = itself(k, used - r, b);
      }
      with_data = with_data + B::widen(a);
      with_itself = with_itself + B::widen(b);
    }
    note_samples<B>(shape, used);
    B::store_total(partial + 2 * task, with_data);
    B::store_total(partial + (2 * task + 1), with_itself);
  }
};

/// Replaces y by the weighted error w (y - scale z).
template <class B, bool Weighted> struct make_error {
  typename B::template cursor<float const> projection, weights;
  typename B::template cursor<float> sinogram;
  float scale;
  chunked_shape shape;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const at = task * shape.view_size(), used = shape.used(task / shape.views);
    auto const a = B::broadcast(scale);
    each_sample_pack<B>(shape, used, [&](index_t k, index_t r) MBIRK_FLAT {
      auto const e = fnma(a, masked<B>(B::load(projection + (at + k)), used - r), B::load(sinogram + (at + k)));
      B::store(sinogram + (at + k), Weighted ? e * B::load(weights + (at + k)) : e);
    });
  }
};

/// Partial sums of w e^2, one per task.
template <class B, bool Weighted> struct weighted_squares {
  typename B::template cursor<float const> error, weights;
  typename B::template cursor<double> partial;
  chunked_shape shape;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const at = task * shape.view_size(), used = shape.used(task / shape.views);
    error_square<B, Weighted> const square{error, weights};
    auto sum = B::no_sum();
    for (index_t n = guard_channels; n < guard_channels + shape.channels; ++n) {
      auto row = B::constant(0);  // float within a channel, double across channels
      for (index_t r = 0; r < shape.width; r += B::lanes) row = square(at + n * shape.width + r, used - r, row);
      sum = sum + B::widen(row);
    }
    note_samples<B>(shape, used);
    B::store_total(partial + task, sum);
  }
};

/// Partial sums of a channel-major sinogram, one per task.
template <class B> struct sinogram_sum {
  typename B::template cursor<float const> values;
  typename B::template cursor<double> partial;
  chunked_shape shape;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const at = task * shape.view_size();
    auto sum = B::no_sum();
    each_sample_pack<B>(shape, shape.used(task / shape.views), [&](index_t k, index_t) MBIRK_FLAT {
      sum = sum + B::widen(B::load(values + (at + k)));
    });
    B::store_total(partial + task, sum);
  }
};

/// Voxels per task of the kernels below: a multiple of the lanes, so only the last pack of the last block may be
/// partial.
inline constexpr index_t voxel_block = index_t{1} << 14;
/// Calls f(k, n) for every pack of the block; n is the number of valid lanes.
template <class B, class F> MBIRK_INLINE void each_voxel_pack(index_t task, index_t count, F const& f) {
  index_t const first = task * voxel_block, end = min(count, first + voxel_block);
  for (index_t k = first; k < end; k += B::lanes) f(k, valid_lanes<B>(k, end));
  B::note_lanes(end - first, round_up(end - first, B::lanes));
}

/// Partial sums of |x|, one per block.
template <class B> struct absolute_sum {
  typename B::template cursor<float const> values;
  typename B::template cursor<double> partial;
  index_t count;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto sum = B::no_sum();
    each_voxel_pack<B>(task, count, [&](index_t k, index_t n) MBIRK_FLAT {
      sum = sum + B::widen(abs(load_lanes<B>(values + k, n)));
    });
    B::store_total(partial + task, sum);
  }
};

/// x *= factor.
template <class B> struct scale_values {
  typename B::template cursor<float> values;
  float factor;
  index_t count;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const a = B::broadcast(factor);
    each_voxel_pack<B>(task, count, [&](index_t k, index_t n) MBIRK_FLAT {
      store_lanes<B>(values + k, a * load_lanes<B>(values + k, n), n);
    });
  }
};

/// x = value.
template <class B> struct fill_values {
  typename B::template cursor<float> values;
  float value;
  index_t count;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const a = B::broadcast(value);
    each_voxel_pack<B>(task, count, [&](index_t k, index_t n) MBIRK_FLAT { store_lanes<B>(values + k, a, n); });
  }
};
/// to = from.
template <class B> struct copy_values {
  typename B::template cursor<float const> from;
  typename B::template cursor<float> to;
  index_t count;

  MBIRK_HD void operator()(index_t task) const noexcept {
    each_voxel_pack<B>(task, count, [&](index_t k, index_t n) MBIRK_FLAT {
      store_lanes<B>(to + k, load_lanes<B>(from + k, n), n);
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
