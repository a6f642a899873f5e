// Tuned cone back projection. Per view and pixel, channels are gathered into one column of rows (in L1), which is
// resampled onto the slices, multiplied by the secant of the ray's elevation and added to the pixel's voxel column. A
// task owns a batch of groups of pixels and loops over the views; for a subset in an iterative reconstruction it owns a
// few views and loops over the groups.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/host/cone_view.hpp"
#include "mbirk/kernel/shared/axpy_projection.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Shared body; derived kernels decide which views and pixels a task owns. Power: exponent of the weights. Unit: the
/// sinogram is 1 everywhere and is not read (Hessian diagonal).
template <class B, int Power, bool Unit> struct cone_columns {
  using I = typename B::index_backend;
  using pack = typename B::pack;

  cone_view<B> view;
  typename B::template cursor<float const> sinogram;      // channel-major, one chunk; unused if Unit
  chunked_shape shape;
  device_span<pixel_group> groups;
  group_batches batches;
  scratch_layout layout{};
  scratch_part column{};

  void plan_scratch() {
    view.plan_scratch(layout);
    column = layout.add<float>("column", view.room_for(shape.width));
  }

  /// Initialises the scratch of a task; called before its first batch.
  template <class Scratch> MBIRK_HD void begin(Scratch const& s) const noexcept {
    auto const u = s.template at<float>(column);
    for (index_t k = 0; k < view.room_for(shape.width); k += B::lanes) B::store(u + k, B::constant(0));
    if constexpr (Unit) {
      index_t const rows = view.half(shape.rows), apart = view.apart(shape.width);
      for (index_t k = 0; k < rows; k += B::lanes) {
        B::store(u + (resample_guard<B> + k), B::first_lanes(rows - k));
        if (view.mirrored) B::store(u + (resample_guard<B> + apart + k), B::first_lanes(rows - k));
      }
    }
  }
  /// Views that are read next: each pixel, counted from first_pixel, prefetches its share of them.
  struct next_views {
    index_t first_pixel = 0, share = 0, size = 0;
    int count = 0;
    typename B::template cursor<float const> at[2] = {};

    MBIRK_INLINE next_views from(index_t pixel) const noexcept {
      next_views copy = *this;
      copy.first_pixel -= pixel;
      return copy;
    }
    MBIRK_INLINE void prefetch(index_t pixel) const noexcept {
      for (int k = 0; k < count; ++k) prefetch_part(at[k], (pixel - first_pixel) * share, share, size);
    }
  };
  /// Adds a view to the voxel columns of a group, which are stored consecutively at x.
  template <class Scratch>
  MBIRK_HD void add_view(pixel_group const& group, index_t v, typename B::template cursor<float> x,
                         next_views const& next, Scratch const& s) const noexcept {
    auto const sum = view.prepare(group, v, false, Power == 1, s);
    float const centre = Power == 1 ? view.prepare_secants(v, sum, s) : 0;
    auto window = view.first_window(sum.widest);
    do {
      view.channel_weights(group, window, Power, Unit, s);
      auto const soon = window.tap0 == 0 ? next.from(group.first) : next_views{};
      view.each_run(group, sum, false, s, [&](auto form, int from, int to) MBIRK_FLAT {
        if (view.mirrored) add_pixels<2, form()>(x, v, from, to, centre, window.taps, soon, s);
        else add_pixels<1, form()>(x, v, from, to, centre, window.taps, soon, s);
      });
      B::note_lanes(group.count * view.geometry.slices, group.count * view.padded_slices);
    } while (view.next_window(window, sum.widest));
  }

 private:
  /// Pixels [from, to), whose steps have the same form. Halves: 2 in a mirrored view, where both halves have the same
  /// weights, else 1.
  template <int Halves, resample_form Form, class Scratch>
  MBIRK_INLINE void add_pixels(typename B::template cursor<float> voxel_columns, index_t v, int from, int to,
                               float centre, int taps, next_views const& next, Scratch const& s) const noexcept {
    auto const add = [&](auto count) MBIRK_FLAT {
      add_pixels<Halves, Form>(count, voxel_columns, v, from, to, centre, next, s);
    };
    if constexpr (Unit) add(simd::constant<2>{});  // reads no channel
    else if constexpr (Form == resample_form::general) add(simd::bounded<3>{taps});  // may be slow
    else if (taps == 2) add(simd::constant<2>{});
    else add(simd::constant<3>{});
  }

  template <int Halves, resample_form Form, class Taps, class Scratch>
  MBIRK_NOINLINE void add_pixels(Taps taps, typename B::template cursor<float> voxel_columns, index_t v, int from,
                                 int to, float centre, next_views const& next, Scratch const& s) const noexcept {
    // Hoisted: the compiler must assume that the stores below may alias *this.
    auto const u = s.template at<float>(column) + resample_guard<B>;
    auto const pixels = view.found(s);
    auto const secants = s.template at<float>(view.secants), slopes = secants + view.padded_slices;
    auto const elevations = view.elevations + v * view.elevation_stride;
    index_t const padded = view.padded_slices, length = padded / Halves, width = shape.width, apart = view.apart(width);
    index_t const rows_of_half = (Unit ? shape.rows : width) / Halves;
    auto const whole_view = Unit ? sinogram : sinogram + shape.offset(0, v);
    pack const middle = B::broadcast(centre);
    for (int p = from; p < to; ++p) {
      next.prefetch(p);
      index_t const first = I::load_value(pixels.reach_first() + p), end = I::load_value(pixels.reach_end() + p);
      if (first >= end) continue;
      if constexpr (!Unit) {  // detector column: weighted sum over its channels
        auto const y = whole_view + index_t{I::load_value(pixels.first_channel + p)} * width;
        pack weight[Taps::max_value];
        taps.each([&](auto t) MBIRK_FLAT {
          weight[t] = B::load_broadcast(pixels.weights + (t * group_pixels + p));
        });
        auto const sum_at = [&](index_t r) MBIRK_FLAT {
          pack sum = weight[0] * B::load(y + r);
          taps.each([&](auto t) MBIRK_FLAT {
            if (t > 0) sum = fma(weight[t], B::load(y + (t * width + r)), sum);
          });
          return sum;
        };
        for (index_t r = 0; r < width / Halves; r += B::lanes) {
          B::store(u + r, sum_at(r));
          if constexpr (Halves == 2) B::store(u + (apart + r), reversed<B>(sum_at(width - B::lanes - r)));
        }
      }
      // Slices: the column resampled onto the voxel column.
      auto const x = voxel_columns + p * padded;
      pack const square = B::load_broadcast(pixels.square() + p);
      auto rows = pixels.template resampler_at<Form, Power, Unit>(p, u, rows_of_half, first);
      auto const add = [&](index_t k, pack factor) MBIRK_FLAT {
        pack value[Halves];
        rows.next(value, apart);
        simd::unrolled<Halves>([&](auto h) MBIRK_FLAT {
          auto const at = x + (h * length + k);
          B::store(at, fma(factor, value[h], B::load(at)));
        });
      };
      auto const each_pack = [&](auto const& factor) MBIRK_FLAT {
        for (index_t k = first * B::lanes; k < end * B::lanes; k += B::lanes) add(k, factor(k));
      };
      if constexpr (Power == 2) {  // sec^2 = 1 + G t, times the sum over channels if Unit
        pack const one = Unit ? B::load_broadcast(pixels.weights + p) : B::constant(1);
        pack const slope = Unit ? square * one : square;
        each_pack([&](index_t k) MBIRK_FLAT { return fma(slope, B::load(elevations + k), one); });
      } else if (centre >= 0) {
        pack const away = square - middle;
        each_pack([&](index_t k) MBIRK_FLAT { return fma(away, B::load(slopes + k), B::load(secants + k)); });
      } else {
        each_pack([&](index_t k) MBIRK_FLAT { return definition::elevation_secant(square, B::load(elevations + k)); });
      }
    }
  }
};

/// A task is a batch of groups and all views.
template <class B, int Power, bool Unit> struct cone_back : cone_columns<B, Power, Unit> {
  using base = cone_columns<B, Power, Unit>;
  using I = typename B::index_backend;

  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<index_t const> offsets;     // offsets of the planned pixels' voxel columns
  bool adds = false;                                      // to what is in voxel_columns, which is replaced otherwise
  scratch_part tile{};

  void plan_scratch() {
    base::plan_scratch();
    tile = this->layout.template add<float>("tile", this->batches.largest() * tile_size());
  }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const batch = this->batches.of(task, this->groups);
    auto const x = s.template at<float>(tile);
    index_t const padded = this->view.padded_slices;
    for (index_t g = 0; g < batch.size(); ++g) {
      auto const columns = x + g * tile_size();
      if (adds) {
        for (int p = 0; p < batch[g].count; ++p)
          load_voxel_column<B>(this->view.shape(), at(batch[g], p), columns + p * padded);
      } else {
        for (index_t k = 0; k < batch[g].count * padded; k += B::lanes) B::store(columns + k, B::constant(0));
      }
    }
    this->begin(s);
    index_t const share = Unit ? 0 : prefetch_share(batch, this->shape);
    for (index_t v = 0; v < this->view.geometry.views; ++v) {
      typename base::next_views next{batch[0].first, share, this->shape.view_size()};
      if (share > 0 && v + 1 < this->view.geometry.views) {
        next.count = 1;
        next.at[0] = this->sinogram + this->shape.offset(0, v + 1);
      }
      for (index_t g = 0; g < batch.size(); ++g) this->add_view(batch[g], v, x + g * tile_size(), next, s);
    }
    for (index_t g = 0; g < batch.size(); ++g)
      for (int p = 0; p < batch[g].count; ++p) {
        auto const from = x + (g * tile_size() + p * padded);
        store_voxel_column<B>(this->view.shape(), [&](index_t k) MBIRK_FLAT { return B::load(from + k); },
                              at(batch[g], p));
      }
  }

 private:
  MBIRK_HD typename B::template cursor<float> at(pixel_group const& group, int p) const noexcept {
    return voxel_columns + I::load_value(offsets + (group.first + p));
  }
  MBIRK_HD index_t tile_size() const noexcept { return group_pixels * this->view.padded_slices; }
};

/// A task is a few views, processed from the last to the first, because the preceding projection has left the last
/// views in the cache. The pending update (the step of the previous subset) is subtracted from each view, which is then
/// back projected from the cache into the task's own partial sums for the pixels of a list.
template <class B> struct cone_fused_update_backproject : cone_columns<B, 1, false> {
  using base = cone_columns<B, 1, false>;
  axpy_projection<B> before;                   // pending update of the previous subset
  bool before_first;                           // true if there is a pending update
  typename B::template cursor<float> parts;    // (tasks, pixels, padded slices)
  index_t pixels, views_per_task, share;       // share: elements of the next view that each pixel prefetches

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    index_t const padded = this->view.padded_slices;
    auto const x = parts + task * pixels * padded;
    for (index_t k = 0; k < pixels * padded; k += B::lanes) B::store(x + k, B::constant(0));
    this->begin(s);
    index_t const to = this->view.geometry.views - task * views_per_task, from = max<index_t>(0, to - views_per_task);
    for (index_t b = 0; b < this->batches.count; ++b)
      for (index_t v = to - 1; v >= from; --v) {
        if (b == 0 && before_first) before.view(v);
        typename base::next_views next{0, share, this->shape.view_size()};
        if (share > 0 && b == 0 && v > from) {
          next.count = before_first ? 2 : 1;
          next.at[0] = before.error + this->shape.offset(0, v - 1);
          if (before_first) next.at[1] = before.projection + this->shape.offset(0, v - 1);
        }
        for (index_t g = this->batches.first(b); g < this->batches.first(b + 1); ++g)
          this->add_view(this->groups[g], v, x + this->groups[g].first * padded, next, s);
      }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
