// Kernels of an iterative reconstruction whose sums are kept apart by units of slices, so that a total does not depend
// on how the slices are shared out. The formulas are those of vcd.hpp, error_sinogram.hpp and epilogue.hpp. A number of
// a task is at (unit, task, number) of its array.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/shared/error_sinogram.hpp"
#include "mbirk/kernel/shared/vcd.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Slices of a unit, as sums are kept: those that are shared out together, or half of them where the largest chunk has
/// fewer.
template <class B> inline constexpr index_t unit_slices = 32 <= most_chunk_packs<B> * B::lanes ? 32 : 16;
template <class B> inline constexpr int unit_packs = static_cast<int>(unit_slices<B> / B::lanes);
/// Most units of a chunk.
template <class B> inline constexpr int most_units = most_chunk_packs<B> / unit_packs<B>;

/// Chunks of whole units, the last of which may be smaller; the fewest packs, counting one more for every chunk.
template <class B> chunked_shape make_unit_chunks(index_t views, index_t channels, index_t rows) {
  index_t const packs = std::max<index_t>(1, ceil_div(rows, B::lanes));
  index_t each = std::min<index_t>(packs, unit_packs<B>);
  for (index_t e = 2 * unit_packs<B>; e <= most_units<B> * unit_packs<B> && e < packs + unit_packs<B>;
       e += unit_packs<B>) {
    index_t const next = std::min(e, packs);
    if (ceil_div(packs, next) * (next + 1) <= ceil_div(packs, each) * (each + 1)) each = next;
  }
  return {views, channels, rows, static_cast<int>(each), ceil_div(packs, each), each * B::lanes};
}

/// Units of a slab, and where those of a chunk begin.
template <class B> MBIRK_HD index_t units_of(index_t slices) noexcept { return ceil_div(slices, unit_slices<B>); }
template <class B> MBIRK_HD index_t first_unit(chunked_shape const& shape, index_t chunk) noexcept {
  return chunk * shape.width / unit_slices<B>;
}
template <class B> MBIRK_HD int units_in(chunked_shape const& shape, index_t chunk) noexcept {
  return static_cast<int>(ceil_div(shape.used(chunk), unit_slices<B>));
}

/// Sums of the units of one chunk, in registers.
template <class B> struct chunk_sums {
  typename B::sums total[most_units<B>];

  MBIRK_HD chunk_sums() noexcept { clear(); }
  MBIRK_HD void clear() noexcept {
    for (int u = 0; u < most_units<B>; ++u) total[u] = B::no_sum();
  }
  /// Adds f(r, n), a pack from row r of the chunk on with n valid lanes, over the `used` rows: in float within a unit
  /// and channel, in double across channels. f accumulates: f(r, n, so far).
  template <class F> MBIRK_INLINE void add(index_t used, F const& f) noexcept {
    for (int u = 0; u < most_units<B>; ++u) {
      index_t const begin = u * unit_slices<B>, end = min(used, begin + unit_slices<B>);
      if (begin >= used) return;
      auto row = B::constant(0);
      for (index_t r = begin; r < end; r += B::lanes) row = f(r, used - r, row);
      total[u] = total[u] + B::widen(row);
    }
  }
};

/// Sum of w z^2 of each unit, beside what squared_norm_epilogue does. slots: tasks of a unit, which are ranges of views
/// if Keep (one chunk a task), else views (all chunks a task).
template <class B, bool Weighted, bool Keep> struct unit_norm_epilogue {
  typename B::template cursor<float const> weights;  // channel-major; unused unless Weighted
  typename B::template cursor<double> partial;       // (units, slots)
  chunked_shape shape;
  index_t slots;
  index_t chunk = -1, slot = 0;
  chunk_sums<B> sums{};

  MBIRK_HD void begin() noexcept {
    chunk = -1;
    sums.clear();
  }
  template <class Block> MBIRK_HD void view(Block block, index_t of, index_t view) noexcept {
    channels(block + guard_channels * shape.width, of, view, guard_channels, guard_channels + shape.channels);
  }
  template <class Block>
  MBIRK_HD void channels(Block block, index_t of, index_t view, index_t first, index_t end) noexcept {
    if (of != chunk) {
      store();
      chunk = of;
      sums.clear();
    }
    slot = view;
    index_t const used = shape.used(of), at = shape.offset(of, view) + first * shape.width, width = shape.width;
    auto all = sums;  // hoisted: the compiler must assume that the stores below may alias *this
    for (index_t n = 0; n < end - first; ++n) {
      all.add(used, [&](index_t r, index_t valid, auto row) MBIRK_FLAT {
        index_t const k = n * width + r;
        return add_squared_norm<B, Weighted, Keep>(block + k, weights, at + k, valid, row);
      });
      if constexpr (Keep)  // packs beyond the last row
        for (index_t r = round_up(used, B::lanes); r < width; r += B::lanes)
          B::store(block + (n * width + r), B::constant(0));
    }
    sums = all;
    B::note_lanes((end - first) * used, (end - first) * width);
  }
  static constexpr bool has_source = Weighted;
  MBIRK_HD typename B::template cursor<float const> source(index_t of, index_t view) const noexcept {
    return weights + shape.offset(of, view);
  }
  MBIRK_HD void end(index_t task) noexcept {
    if constexpr (Keep) slot = task % slots;
    store();
  }

 private:
  MBIRK_HD void store() const noexcept {
    if (chunk < 0) return;
    for (int u = 0; u < units_in<B>(shape, chunk); ++u)
      B::store_total(partial + ((first_unit<B>(shape, chunk) + u) * slots + slot), sums.total[u]);
  }
};

/// Sums of a term (error_sinogram.hpp) over the samples of each unit. A task is a view of a chunk.
template <class B, class Term> struct sinogram_unit_sums {
  Term term;
  typename B::template cursor<double> partial;  // (units, views)
  chunked_shape shape;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const chunk = task / shape.views, view = task % shape.views, at = task * shape.view_size(),
                  used = shape.used(chunk);
    chunk_sums<B> sums;
    for (index_t n = guard_channels; n < guard_channels + shape.channels; ++n)
      sums.add(used, [&](index_t r, index_t valid, auto row) MBIRK_FLAT {
        return term(at + n * shape.width + r, valid, row);
      });
    note_samples<B>(shape, used);
    for (int u = 0; u < units_in<B>(shape, chunk); ++u)
      B::store_total(partial + ((first_unit<B>(shape, chunk) + u) * shape.views + view), sums.total[u]);
  }
};

/// Voxel columns of a slab within those of an array that also holds a slice of each neighbour.
struct slab_columns {
  index_t cols, slices;
  index_t row_stride, col_stride;  // of the volume, in elements
};

/// Sums of |x|. A task is a batch of pixels.
template <class B> struct absolute_unit_sums {
  static constexpr index_t batch = 64;
  typename B::template cursor<float const> recon;
  typename B::template cursor<double> partial;  // (units, tasks)
  slab_columns columns;
  index_t pixels;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const first = task * batch, last = min(pixels, first + batch), tasks = ceil_div(pixels, batch);
    for (index_t u = 0; u < units_of<B>(columns.slices); ++u) {
      index_t const begin = u * unit_slices<B>, end = min(columns.slices, begin + unit_slices<B>);
      auto total = B::no_sum();
      for (index_t p = first; p < last; ++p) {
        auto const x = recon + (p / columns.cols * columns.row_stride + p % columns.cols * columns.col_stride);
        auto here = B::constant(0);
        for (index_t k = begin; k < end; k += B::lanes)
          here = here + abs(load_lanes<B>(x + k, valid_lanes<B>(k, columns.slices)));
        total = total + B::widen(here);
      }
      B::store_total(partial + (u * tasks + task), total);
    }
    B::note_lanes((last - first) * columns.slices, (last - first) * round_up(columns.slices, B::lanes));
  }
};

/// A prior whose voxel columns begin `lead` slices before those of the slab, and may end after them.
template <class B, class Prior> struct slab_prior {
  Prior inner;
  index_t lead, slices;

  template <class Sink> MBIRK_INLINE void operator()(index_t i, index_t j, Sink const& sink) const noexcept {
    inner(i, j, [&](index_t k, auto x, auto g, auto h, index_t valid) MBIRK_FLAT {
      index_t const at = k - lead, n = min(valid, slices - at);
      if (at >= 0 && n > 0) sink(at, x, g, h, n);
    });
  }
};

/// vcd_direction, with the sums of G d and h_prior d^2 of each unit. A task is a group.
template <class B, class Prior> struct vcd_unit_direction {
  Prior prior;
  subset_arrays<B> subset;
  float precision;                              // c = 1 / sigma_y^2
  typename B::template cursor<double> partial;  // (units, tasks, 2)
  scratch_layout layout{};
  scratch_part sums{};

  void plan_scratch() { sums = layout.add<double>("direction sums", 2 * units_of<B>(prior.slices) * B::lanes); }
  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const total = s.template at<double>(sums);
    index_t const units = units_of<B>(prior.slices);
    for (index_t k = 0; k < 2 * units; ++k) B::store_sums(total + k * B::lanes, B::no_sum());
    unit_sums<decltype(total)> of_units{total, prior.slices};
    find_directions<B>(prior, subset, subset.groups[task], precision, of_units);
    for (index_t u = 0; u < units; ++u)
      for (index_t m = 0; m < 2; ++m)
        B::store_total(partial + (2 * (u * subset.groups.size() + task) + m),
                       B::load_sums(total + (2 * u + m) * B::lanes));
  }

 private:
  /// In float within a unit of a voxel column, in double across columns.
  template <class Total> struct unit_sums {
    Total total;  // (units, 2, lanes)
    index_t slices;

    MBIRK_INLINE void pack(index_t k, index_t n, typename B::pack& slope, typename B::pack& curve) const noexcept {
      if ((k + B::lanes) % unit_slices<B> != 0 && k + n < slices) return;
      auto const of_unit = total + 2 * (k / unit_slices<B>) * B::lanes;
      B::store_sums(of_unit, B::load_sums(of_unit) + B::widen(slope));
      B::store_sums(of_unit + B::lanes, B::load_sums(of_unit + B::lanes) + B::widen(curve));
      slope = B::constant(0);
      curve = B::constant(0);
    }
    MBIRK_INLINE void column(typename B::pack, typename B::pack) const noexcept {}
  };
};

/// vcd_update, with the sums of |alpha d| of each unit. A task is a range of pixels.
template <class B> struct vcd_unit_update {
  using I = typename B::index_backend;
  typename I::template cursor<std::int32_t const> pixels;  // ascending
  typename B::template cursor<float const> direction;      // (pixels, slices)
  typename B::template cursor<float> recon;
  slab_columns volume;
  index_t padded_slices;
  step_length alpha;
  typename B::template cursor<double> change;    // (units, tasks)
  typename B::template cursor<double> columns;   // (tasks, padded_slices), sums of (alpha d)^2
  device_span<entry_range> ranges;               // one per task

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const [first, last] = ranges[task];
    auto const step = B::broadcast(alpha.get());
    for (index_t u = 0; u < units_of<B>(volume.slices); ++u) {
      index_t const begin = u * unit_slices<B>;
      auto total = B::no_sum();
      typename B::pack square[unit_packs<B>];
      for (int m = 0; m < unit_packs<B>; ++m) square[m] = B::constant(0);
      for (index_t e = first; e < last; ++e) {
        index_t const pixel = I::load_value(pixels + e);
        auto const x = recon + (pixel / volume.cols * volume.row_stride + pixel % volume.cols * volume.col_stride);
        auto const d = direction + e * volume.slices;
        auto here = B::constant(0);
        for (int m = 0; m < unit_packs<B>; ++m) {
          index_t const k = begin + m * B::lanes;
          if (k >= volume.slices) break;
          index_t const n = valid_lanes<B>(k, volume.slices);
          auto const delta = move_voxels<B>(x + k, d + k, step, n);
          here = here + abs(delta);
          square[m] = fma(delta, delta, square[m]);
        }
        total = total + B::widen(here);
      }
      B::store_total(change + (u * ranges.size() + task), total);
      for (int m = 0; m < unit_packs<B>; ++m)
        if (begin + m * B::lanes < padded_slices)
          B::store_sums(columns + (task * padded_slices + begin + m * B::lanes), B::widen(square[m]));
    }
    B::note_lanes((last - first) * volume.slices, (last - first) * round_up(volume.slices, B::lanes));
  }
};

/// Copies the voxel columns of a slab. A task is a batch of pixels.
template <class B> struct copy_slab_columns {
  static constexpr index_t batch = 64;
  typename B::template cursor<float const> from;
  typename B::template cursor<float> to;
  index_t from_stride, to_stride, slices, pixels;  // strides between pixels, in elements

  MBIRK_HD void operator()(index_t task) const noexcept {
    for (index_t p = task * batch; p < min(pixels, (task + 1) * batch); ++p)
      for (index_t k = 0; k < slices; k += B::lanes) {
        index_t const n = valid_lanes<B>(k, slices);
        store_lanes<B>(to + (p * to_stride + k), load_lanes<B>(from + (p * from_stride + k), n), n);
      }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
