// Voxel steps of a VCD subset update: direction, slice damping, positivity, update. Arrays of a subset are (pixels,
// slices) in list order; the direction overwrites the data gradient in place. Prior: a functor for voxel columns as in
// qggmrf_cylinder.hpp, called pixel by pixel.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "mbirk/core/device_span.hpp"
#include "mbirk/definition/proximal.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/kernel/shared/scratch.hpp"
#include "mbirk/kernel/shared/step.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Proximal term |x - v|^2 / (2 sigma_p^2): gradient (x - v) / sigma_p^2 and its constant curvature.
template <class B> struct proximal_cylinder {
  typename B::template cursor<float const> recon, prox_input;
  index_t slices, row_stride, col_stride;  // strides of both arrays
  float curvature;                         // 1 / sigma_p^2

  template <class Sink> MBIRK_INLINE void operator()(index_t i, index_t j, Sink const& sink) const noexcept {
    auto const x = recon + (i * row_stride + j * col_stride), v = prox_input + (i * row_stride + j * col_stride);
    auto const h = B::broadcast(curvature);
    for (index_t k = 0; k < slices; k += B::lanes) {
      index_t const n = valid_lanes<B>(k, slices);
      auto const value = load_lanes<B>(x + k, n);
      sink(k, value, definition::proximal_gradient(value, load_lanes<B>(v + k, n), h), h, n);
    }
  }
};

/// alpha = -<G, d> / (c <d, A' w A d> + <h_prior d, d> + 2^-23), from the sums of G d, h_prior d^2 and w (A d)^2.
struct vcd_line_search {
  static constexpr int size = 1;
  double precision, max_alpha;

  MBIRK_HD void operator()(double const (&sums)[3], double (&alpha)[1]) const noexcept {
    alpha[0] = clipped_step(-sums[0], precision * sums[2] + sums[1] + 0x1p-23, max_alpha);
  }
};

/// Slices of the tasks of a kernel over voxel columns: a task is a range of entries and a piece of the slices, task =
/// range * count() + piece. On the host one piece has all slices.
struct slice_pieces {
  index_t slices, padded, each;  ///< `each` and `padded` are multiples of the lanes
  MBIRK_HD index_t count() const noexcept { return ceil_div(padded, each); }
  MBIRK_HD index_t range(index_t task) const noexcept { return task / count(); }
  MBIRK_HD index_t first(index_t task) const noexcept { return task % count() * each; }
  MBIRK_HD index_t last(index_t task) const noexcept { return min(slices, first(task) + each); }
  MBIRK_HD index_t padded_last(index_t task) const noexcept { return min(padded, first(task) + each); }
};
/// Pieces that make about tasks_of_a_device tasks.
inline slice_pieces pieces_for_device(index_t ranges, index_t slices, index_t padded, index_t lanes) {
  index_t const packs = padded / lanes;
  return {slices, padded, lanes * std::clamp<index_t>(ranges * packs / tasks_of_a_device, 1, packs)};
}

/// Arrays shared by the kernels of a subset.
template <class B> struct subset_arrays {
  using I = typename B::index_backend;
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their entries in the arrays of the subset
  typename B::template cursor<float> direction;                // A' (w e) on entry
  typename B::template cursor<float const> hessian;            // (rows, cols, slices)
  index_t row_stride, col_stride;                              // strides of the volume
  device_span<pixel_group> groups;                                    // one per task
};

/// d = -G / K with G = g_prior - c g, K = c H + h_prior, at the pixels of a group. `sums` receives the sums of G d and
/// h_prior d^2 of a voxel column so far after every pack, pack(k, n, slope, curve), and at its end,
/// column(slope, curve).
template <class B, class Prior, class Sums>
MBIRK_INLINE void find_directions(Prior const& prior, subset_arrays<B> const& subset, pixel_group const& group,
                                  float precision, Sums& sums) noexcept {
  using I = typename B::index_backend;
  auto const c = B::broadcast(precision);
  for (index_t p = group.first; p < group.first + group.count; ++p) {
    index_t const i = I::load_value(subset.rows + p), j = I::load_value(subset.cols + p);
    auto const at = subset.direction + I::load_value(subset.offsets + p);
    auto const diagonal = subset.hessian + (i * subset.row_stride + j * subset.col_stride);
    auto slope = B::constant(0), curve = B::constant(0);
    prior(i, j, [&](index_t k, auto, auto g, auto h, index_t n) MBIRK_FLAT {
      auto const gradient = fnma(c, load_lanes<B>(at + k, n), g);
      auto const d = masked<B>((B::constant(0) - gradient) / fma(c, load_lanes<B>(diagonal + k, n), h), n);
      store_lanes<B>(at + k, d, n);
      slope = fma(gradient, d, slope);
      curve = fma(h * d, d, curve);
      sums.pack(k, n, slope, curve);
    });
    sums.column(slope, curve);
  }
  B::note_lanes(group.count * prior.slices, group.count * round_up(prior.slices, B::lanes));
}

/// The direction of a subset, with the sums of G d and h_prior d^2 of each task: in float within a voxel column, in
/// double across.
template <class B, class Prior> struct vcd_direction {
  Prior prior;
  subset_arrays<B> subset;
  float precision;                              // c = 1 / sigma_y^2
  typename B::template cursor<double> partial;  // two per task

  MBIRK_HD void operator()(index_t task) const noexcept {
    column_sums sums;
    find_directions<B>(prior, subset, subset.groups[task], precision, sums);
    B::store_total(partial + 2 * task, sums.slope);
    B::store_total(partial + (2 * task + 1), sums.curve);
  }

 private:
  struct column_sums {
    typename B::sums slope = B::no_sum(), curve = B::no_sum();

    MBIRK_INLINE void pack(index_t, index_t, typename B::pack, typename B::pack) noexcept {}
    MBIRK_INLINE void column(typename B::pack slope_here, typename B::pack curve_here) noexcept {
      slope = slope + B::widen(slope_here);
      curve = curve + B::widen(curve_here);
    }
  };
};

/// First pass with slice damping: G in place, K in a second array, and for each slice the sums of G / K and 1 / K over
/// the pixels of each task.
template <class B, class Prior> struct vcd_damped_gradient {
  using I = typename B::index_backend;
  Prior prior;
  subset_arrays<B> subset;
  float precision;
  typename B::template cursor<float> curvature;  // K, in the layout of the direction
  typename B::template cursor<double> columns;   // (tasks, 2, padded_slices)
  index_t padded_slices;
  scratch_layout layout{};
  scratch_part sums{};

  void plan_scratch() { sums = layout.add<float>("slice sums", 2 * padded_slices); }
  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& group = subset.groups[task];
    auto const c = B::broadcast(precision);
    auto const ratio = s.template at<float>(sums), inverse = ratio + padded_slices;
    for (index_t k = 0; k < 2 * padded_slices; k += B::lanes) B::store(ratio + k, B::constant(0));
    for (index_t p = group.first; p < group.first + group.count; ++p) {
      index_t const i = I::load_value(subset.rows + p), j = I::load_value(subset.cols + p),
          entry = I::load_value(subset.offsets + p);
      auto const at = subset.direction + entry, curvature_at = curvature + entry;
      auto const diagonal = subset.hessian + (i * subset.row_stride + j * subset.col_stride);
      prior(i, j, [&](index_t k, auto, auto g, auto h, index_t n) MBIRK_FLAT {
        auto const gradient = fnma(c, load_lanes<B>(at + k, n), g), total = fma(c, load_lanes<B>(diagonal + k, n), h);
        auto const one_over = B::constant(1) / total;
        store_lanes<B>(at + k, gradient, n);
        store_lanes<B>(curvature_at + k, total, n);
        B::store(ratio + k, fma(gradient, one_over, B::load(ratio + k)));
        B::store(inverse + k, B::load(inverse + k) + one_over);
      });
    }
    auto const out = columns + 2 * task * padded_slices;
    for (index_t k = 0; k < 2 * padded_slices; k += B::lanes) B::store_sums(out + k, B::widen(B::load(ratio + k)));
    B::note_lanes(group.count * prior.slices, group.count * round_up(prior.slices, B::lanes));
  }
};

/// Adds rows p + parts, p + 2 parts, ... of an array to row p, for every p < parts. A task is a pack of such a row.
template <class B> struct fold_slice_sums {
  typename B::template cursor<double> columns;  // (rows, width)
  index_t rows, parts, width;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const packs = width / B::lanes, part = task / packs, k = task % packs * B::lanes;
    auto const own = columns + (part * width + k);
    auto sum = B::load_sums(own);
    for (index_t row = part + parts; row < rows; row += parts) sum = sum + B::load_sums(columns + (row * width + k));
    B::store_sums(own, sum);
  }
};
/// Rows that fold_slice_sums leaves on a device: then it adds as many numbers one after another as the kernel that adds
/// up what it leaves.
inline index_t rows_after_folding(index_t rows) {
  return static_cast<index_t>(std::ceil(std::sqrt(static_cast<double>(rows))));
}

/// shift_k = (1 - s_k) times the mean of G over the subset, weighted by 1 / K. A task is a pack of slices.
template <class B> struct vcd_slice_means {
  typename B::template cursor<double const> columns;  // (rows, 2, padded_slices)
  typename B::template cursor<float const> undamped;  // 1 - s_k
  typename B::template cursor<float> shift;
  index_t rows, padded_slices;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const k = task * B::lanes;
    auto ratio = B::no_sum(), inverse = B::no_sum();
    for (index_t row = 0; row < rows; ++row) {
      ratio = ratio + B::load_sums(columns + (2 * row * padded_slices + k));
      inverse = inverse + B::load_sums(columns + ((2 * row + 1) * padded_slices + k));
    }
    B::store(shift + k, B::narrow(ratio / inverse) * B::load(undamped + k));
  }
};

/// Second pass with slice damping: d = -(G - shift_k) / K, with the sums of vcd_direction; h_prior is computed
/// as K - c H.
template <class B> struct vcd_damped_direction {
  using I = typename B::index_backend;
  subset_arrays<B> subset;
  float precision;
  typename B::template cursor<float const> curvature, shift;
  typename B::template cursor<double> partial;  // two per task
  index_t slices;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const& group = subset.groups[task];
    auto const c = B::broadcast(precision);
    auto slope = B::no_sum(), curve = B::no_sum();
    for (index_t p = group.first; p < group.first + group.count; ++p) {
      index_t const entry = I::load_value(subset.offsets + p);
      auto const diagonal = subset.hessian +
          (I::load_value(subset.rows + p) * subset.row_stride + I::load_value(subset.cols + p) * subset.col_stride);
      auto slope_here = B::constant(0), curve_here = B::constant(0);
      for (index_t k = 0; k < slices; k += B::lanes) {
        index_t const n = valid_lanes<B>(k, slices);
        auto const at = subset.direction + (entry + k);
        auto const gradient = load_lanes<B>(at, n);
        auto total = load_lanes<B>(curvature + (entry + k), n);
        if (n < B::lanes) total = total + (B::constant(1) - B::first_lanes(n));  // avoids 0 / 0 beyond the last slice
        auto const d = masked<B>((B::load(shift + k) - gradient) / total, n);
        store_lanes<B>(at, d, n);
        slope_here = fma(gradient, d, slope_here);
        curve_here = fma(fnma(c, load_lanes<B>(diagonal + k, n), total) * d, d, curve_here);
      }
      slope = slope + B::widen(slope_here);
      curve = curve + B::widen(curve_here);
    }
    B::store_total(partial + 2 * task, slope);
    B::store_total(partial + (2 * task + 1), curve);
    B::note_lanes(group.count * slices, group.count * round_up(slices, B::lanes));
  }
};

/// Entries [first, last) of an ascending list of pixels. Equal pixels are never in two ranges, so ranges write disjoint
/// voxels.
struct entry_range { index_t first = 0, last = 0; };
inline std::vector<entry_range> chunk_without_splitting_duplicates(std::span<std::int32_t const> ascending,
                                                                   index_t most) {
  std::vector<entry_range> ranges;
  auto const count = static_cast<index_t>(ascending.size());
  for (index_t k = 0; k < count;) {
    index_t end = std::min(count, k + most);
    while (end < count && ascending[static_cast<std::size_t>(end)] == ascending[static_cast<std::size_t>(end - 1)])
      ++end;
    ranges.push_back({k, end});
    k = end;
  }
  return ranges;
}

/// d <- max(-x / (alpha + epsilon), d), so that x + alpha d is not negative.
template <class B> struct vcd_clip_direction {
  typename B::index_backend::template cursor<std::int32_t const> pixels;
  typename B::template cursor<float const> recon;
  typename B::template cursor<float> direction;
  index_t cols, slices, row_stride, col_stride;
  step_length alpha;
  double epsilon;
  slice_pieces pieces;
  device_span<entry_range> ranges;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const [first, last] = ranges[pieces.range(task)];
    index_t const begin = pieces.first(task), end = pieces.last(task);
    float const step = alpha.get(epsilon);
    for (index_t e = first; e < last; ++e) {
      index_t const pixel = B::index_backend::load_value(pixels + e);
      auto const x = recon + (pixel / cols * row_stride + pixel % cols * col_stride);
      auto const d = direction + e * slices;
      for (index_t k = begin; k < end; k += B::lanes) {
        index_t const n = valid_lanes<B>(k, slices);
        store_lanes<B>(d + k, max((B::constant(0) - load_lanes<B>(x + k, n)) / B::broadcast(step),
                                  load_lanes<B>(d + k, n)), n);
      }
    }
    B::note_lanes((last - first) * (end - begin), (last - first) * round_up(end - begin, B::lanes));
  }
};

/// x += step d for `n` slices; returns step d.
template <class B>
MBIRK_INLINE typename B::pack move_voxels(typename B::template cursor<float> x,
                                          typename B::template cursor<float const> d, typename B::pack step,
                                          index_t n) noexcept {
  auto const delta = step * load_lanes<B>(d, n);
  store_lanes<B>(x, load_lanes<B>(x, n) + delta, n);
  return delta;
}

/// x += alpha d for each entry; partial sums of |alpha d|, and of (alpha d)^2 per slice.
template <class B> struct vcd_update {
  typename B::index_backend::template cursor<std::int32_t const> pixels;  // ascending
  typename B::template cursor<float const> direction;
  typename B::template cursor<float> recon;
  index_t cols, slices, padded_slices, row_stride, col_stride;
  step_length alpha;
  typename B::template cursor<double> change;   // one per task
  typename B::template cursor<double> columns;  // (ranges, padded_slices)
  slice_pieces pieces;
  device_span<entry_range> ranges;
  scratch_layout layout{};
  scratch_part squares{};

  void plan_scratch() { squares = layout.add<float>("slice squares", padded_slices); }
  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    index_t const range = pieces.range(task), begin = pieces.first(task), end = pieces.last(task),
                  padded_end = pieces.padded_last(task);
    auto const [first, last] = ranges[range];
    auto const square = s.template at<float>(squares);
    auto const step = B::broadcast(alpha.get());
    auto total = B::no_sum();
    for (index_t k = begin; k < padded_end; k += B::lanes) B::store(square + k, B::constant(0));
    for (index_t e = first; e < last; ++e) {
      index_t const pixel = B::index_backend::load_value(pixels + e);
      auto const x = recon + (pixel / cols * row_stride + pixel % cols * col_stride);
      auto const d = direction + e * slices;
      auto here = B::constant(0);
      for (index_t k = begin; k < end; k += B::lanes) {
        index_t const n = valid_lanes<B>(k, slices);
        auto const delta = move_voxels<B>(x + k, d + k, step, n);
        here = here + abs(delta);
        B::store(square + k, fma(delta, delta, B::load(square + k)));
      }
      total = total + B::widen(here);
    }
    B::store_total(change + task, total);
    B::note_lanes((last - first) * (end - begin), (last - first) * (padded_end - begin));
    for (index_t k = begin; k < padded_end; k += B::lanes)
      B::store_sums(columns + (range * padded_slices + k), B::widen(B::load(square + k)));
  }
};

/// total[k] += sum of the columns of all tasks. A task is a pack of slices.
template <class B> struct reduce_slice_sums {
  typename B::template cursor<double const> columns;  // (tasks, padded_slices)
  typename B::template cursor<double> total;
  index_t tasks, padded_slices;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const k = task * B::lanes;
    auto sum = B::load_sums(total + k);
    for (index_t t = 0; t < tasks; ++t) sum = sum + B::load_sums(columns + (t * padded_slices + k));
    B::store_sums(total + k, sum);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
