// Kernels of the denoiser: sums and local deviations of an image; direction and update of a subset.
#pragma once

#include <cstdint>

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/shared/qggmrf_cylinder.hpp"
#include "mbirk/kernel/shared/vcd.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Pixels per task in passes over an image.
inline constexpr index_t image_batch = 64;

/// An image, or a part of it, as a grid of voxel columns.
template <class B> struct image_columns {
  typename B::template cursor<float const> data{};
  index_t rows = 0, cols = 0, slices = 0, row_stride = 0, col_stride = 0;

  MBIRK_HD index_t pixels() const noexcept { return rows * cols; }
  MBIRK_HD index_t voxels() const noexcept { return pixels() * slices; }
  MBIRK_HD index_t tasks() const noexcept { return ceil_div(pixels(), image_batch); }
  MBIRK_HD index_t offset(index_t i, index_t j) const noexcept { return i * row_stride + j * col_stride; }
  /// Calls f(i, j) for the pixels of a task.
  template <class F> MBIRK_INLINE void each_pixel(index_t task, F const& f) const {
    for (index_t p = task * image_batch; p < min(pixels(), (task + 1) * image_batch); ++p) f(p / cols, p % cols);
  }
};

/// Copies slices taken[0 ... slices - 1] of the voxel columns to a dense array. The strides of `image` skip the pixels
/// that are not taken.
template <class B> struct take_slices {
  using I = typename B::index_backend;
  image_columns<B> image;                               // image.slices: number of slices taken
  typename I::template cursor<std::int32_t const> taken;  // padded to whole packs
  typename B::template cursor<float> out;

  MBIRK_HD void operator()(index_t task) const noexcept {
    image.each_pixel(task, [&](index_t i, index_t j) MBIRK_FLAT {
      auto const from = image.data + image.offset(i, j);
      auto const to = out + (i * image.cols + j) * image.slices;
      for (index_t k = 0; k < image.slices; k += B::lanes)
        store_lanes<B>(to + k, B::gather(from, I::load_ints(taken + k)), valid_lanes<B>(k, image.slices));
    });
  }
};

/// Sum of |x| and per-lane maximum of x; Copy also copies the image. The sum is finite if and only if every voxel is.
template <class B, bool Copy> struct measure_image {
  image_columns<B> image;
  typename B::template cursor<double> partial;  // one per task
  typename B::template cursor<float> largest;   // a pack per task
  typename B::template cursor<float> copy = {};
  index_t copy_row_stride = 0, copy_col_stride = 0;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto total = B::no_sum();
    auto most = B::constant(-0x1.fffffep127);
    image.each_pixel(task, [&](index_t i, index_t j) MBIRK_FLAT {
      auto const from = image.data + image.offset(i, j);
      auto const to = copy + (i * copy_row_stride + j * copy_col_stride);
      for (index_t k = 0; k < image.slices; k += B::lanes) {
        index_t const n = valid_lanes<B>(k, image.slices);
        auto const x = load_lanes<B>(from + k, n);
        total = total + B::widen(abs(x));
        most = max(most, n == B::lanes ? x : x + (B::constant(1) - B::first_lanes(n)) * B::constant(-0x1.fffffep127));
        if constexpr (Copy) store_lanes<B>(to + k, x, n);
      }
    });
    B::store_total(partial + task, total);
    B::store(largest + task * B::lanes, most);
  }
};

/// Sum over the voxels x >= threshold of the standard deviation of {x, its neighbours one row, one column and one slice
/// before}, and the number of these voxels. Indices wrap around: the voxel before the first is the last. (Noise
/// estimate of MBIRJAX.)
template <class B> struct local_deviation {
  using pack = typename B::pack;
  image_columns<B> image;
  float threshold;
  typename B::template cursor<double> partial;  // two per task

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto total = B::no_sum(), members = B::no_sum();
    pack const level = B::broadcast(threshold), quarter = B::constant(0.25), none = B::constant(0);
    auto const before = B::iota() + B::broadcast(std::int32_t{B::lanes - 1});  // index of lane k - 1 in two packs
    image.each_pixel(task, [&](index_t i, index_t j) MBIRK_FLAT {
      auto const here = image.data + image.offset(i, j);
      auto const row = image.data + image.offset(i > 0 ? i - 1 : image.rows - 1, j);
      auto const col = image.data + image.offset(i, j > 0 ? j - 1 : image.cols - 1);
      pack previous = B::load_broadcast(here + (image.slices - 1));
      pack sum = none, count = none;
      for (index_t k = 0; k < image.slices; k += B::lanes) {
        index_t const n = valid_lanes<B>(k, image.slices);
        pack const x = load_lanes<B>(here + k, n), a = load_lanes<B>(row + k, n), b = load_lanes<B>(col + k, n);
        pack const c = lookup2(previous, x, before);
        pack const mean = ((x + a) + (b + c)) * quarter;
        pack const dx = x - mean, da = a - mean, db = b - mean, dc = c - mean;
        pack const deviation = sqrt(fma(dx, dx, fma(da, da, fma(db, db, dc * dc))) * quarter);
        auto const outside = x < level;
        sum = sum + masked<B>(select(outside, none, deviation), n);
        count = count + masked<B>(select(outside, none, B::constant(1)), n);
        previous = x;
      }
      total = total + B::widen(sum);
      members = members + B::widen(count);
    });
    B::store_total(partial + 2 * task, total);
    B::store_total(partial + (2 * task + 1), members);
  }
};

/// d = (c e - g) / (1 + h) with e = image - x, for each entry of a subset; partial sums of (c e - g) d and (c + h) d^2.
/// Lanes beyond the last slice have e = g = 0, hence d = 0.
template <class B> struct denoise_direction {
  using I = typename B::index_backend;
  qggmrf_cylinder<B> prior;
  typename B::template cursor<float const> image;
  index_t row_stride, col_stride;  // strides of the image
  float precision;                 // c = 1 / sigma_noise^2
  typename I::template cursor<std::int32_t const> pixels;
  typename B::template cursor<float> direction;  // (entries, padded_slices)
  index_t padded_slices;
  typename B::template cursor<double> partial;  // two per task
  device_span<entry_range> ranges;                     // one per task

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const [first, last] = ranges[task];
    auto const c = B::broadcast(precision);
    auto slope = B::no_sum(), curve = B::no_sum();
    for (index_t n = first; n < last; ++n) {
      index_t const pixel = I::load_value(pixels + n), i = pixel / prior.col_count, j = pixel % prior.col_count;
      auto const y = image + (i * row_stride + j * col_stride);
      auto const out = direction + n * padded_slices;
      auto slope_here = B::constant(0), curve_here = B::constant(0);  // float within a voxel column, double across
      prior(i, j, [&](index_t k, auto x, auto g, auto h, index_t valid) MBIRK_FLAT {
        auto const downhill = fma(c, load_lanes<B>(y + k, valid) - x, B::constant(0) - g);
        auto const d = downhill / (B::constant(1) + h);
        B::store(out + k, d);
        slope_here = fma(downhill, d, slope_here);
        curve_here = fma((c + h) * d, d, curve_here);
      });
      slope = slope + B::widen(slope_here);
      curve = curve + B::widen(curve_here);
    }
    B::store_total(partial + 2 * task, slope);
    B::store_total(partial + (2 * task + 1), curve);
    B::note_lanes((last - first) * prior.slices, (last - first) * padded_slices);
  }
};

/// alpha = <c e - g, d> / (<(c + h) d, d> + 2^-23), clamped to [2^-23, 1.5].
struct denoise_line_search {
  static constexpr int size = 1;

  MBIRK_HD void operator()(double const (&sums)[3], double (&alpha)[1]) const noexcept {
    alpha[0] = clipped_step(sums[0], sums[1] + 0x1p-23, 1.5);
  }
};

/// x += alpha d for each entry; partial sums of |alpha d| and of the change of |x|.
template <class B> struct denoise_update {
  using I = typename B::index_backend;
  typename B::template cursor<float> recon;
  index_t cols, slices, row_stride, col_stride;
  step_length alpha;
  typename I::template cursor<std::int32_t const> pixels;
  typename B::template cursor<float const> direction;  // (entries, padded_slices)
  index_t padded_slices;
  typename B::template cursor<double> partial;  // two per task
  device_span<entry_range> ranges;                     // one per task

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const [first, last] = ranges[task];
    auto const step = B::broadcast(alpha.get());
    auto moved = B::no_sum(), grown = B::no_sum();
    for (index_t n = first; n < last; ++n) {
      index_t const pixel = I::load_value(pixels + n);
      auto const x = recon + (pixel / cols * row_stride + pixel % cols * col_stride);
      auto const d = direction + n * padded_slices;
      auto moved_here = B::constant(0), grown_here = B::constant(0);
      for (index_t k = 0; k < slices; k += B::lanes) {
        index_t const valid = valid_lanes<B>(k, slices);
        auto const old = load_lanes<B>(x + k, valid), delta = step * B::load(d + k), now = old + delta;
        store_lanes<B>(x + k, now, valid);
        moved_here = moved_here + abs(delta);
        grown_here = grown_here + (abs(now) - abs(old));
      }
      moved = moved + B::widen(moved_here);
      grown = grown + B::widen(grown_here);
    }
    B::store_total(partial + 2 * task, moved);
    B::store_total(partial + (2 * task + 1), grown);
    B::note_lanes((last - first) * slices, (last - first) * padded_slices);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
