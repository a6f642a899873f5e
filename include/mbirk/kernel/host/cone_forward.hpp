// Tuned cone forward projection: a task owns a few views and processes them with one batch of groups of pixels at a
// time. Per view and pixel, the voxel column is multiplied by the secant of the ray's elevation (in L1), resampled onto
// the rows, and added to the two or three channels of its footprint directly from registers.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/host/cone_view.hpp"
#include "mbirk/kernel/shared/epilogue.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/prefetch.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Everything except the epilogue. Split out so that it is compiled once for all epilogues.
template <class B> struct cone_views {
  using I = typename B::index_backend;
  using pack = typename B::pack;

  cone_view<B> view;
  typename B::template cursor<float const> voxel_columns;
  typename B::template cursor<float> sinogram;            // channel-major, one chunk
  typename I::template cursor<index_t const> offsets;     // offsets of the planned pixels' voxel columns
  chunked_shape shape;
  device_span<pixel_group> groups;
  group_batches batches;
  index_t views_per_task;
  scratch_layout layout{};
  scratch_part tile{}, cylinder{};

  void plan_scratch() {
    view.plan_scratch(layout);
    tile = layout.add<float>("tile", batches.largest() * tile_size());
    cylinder = layout.add<float>("cylinder", view.room_for(view.padded_slices));
  }

  /// Initialises the scratch of a task; called before its first batch.
  template <class Scratch> MBIRK_HD void begin(Scratch const& s) const noexcept {
    auto const u = s.template at<float>(cylinder);
    for (index_t k = 0; k < view.room_for(view.padded_slices); k += B::lanes) B::store(u + k, B::constant(0));
  }
  MBIRK_HD void clear_view(index_t v) const noexcept {
    for (index_t k = 0; k < shape.view_size(); k += B::lanes)
      B::store(sinogram + (shape.offset(0, v) + k), B::constant(0));
  }
  /// Copies the voxel columns of a batch to scratch, aligned and padded with zeros.
  template <class Scratch> MBIRK_HD void copy_batch(index_t batch, Scratch const& s) const noexcept {
    auto x = s.template at<float>(tile);
    for (index_t g = batches.first(batch); g < batches.first(batch + 1); ++g, x = x + tile_size())
      for (int p = 0; p < groups[g].count; ++p)
        load_voxel_column<B>(view.shape(), voxel_columns + I::load_value(offsets + (groups[g].first + p)),
                             x + p * view.padded_slices);
  }
  /// Prefetches part `part` of `parts` of the voxel columns of a batch that is copied next.
  MBIRK_HD void prefetch_batch(index_t batch, index_t part, index_t parts) const noexcept {
    if (batch >= batches.count) return;
    auto const& last = groups[batches.first(batch + 1) - 1];
    index_t const first = groups[batches.first(batch)].first, count = last.first + last.count - first;
    for (index_t p = first + count * part / parts; p < first + count * (part + 1) / parts; ++p)
      prefetch_part(voxel_columns + I::load_value(offsets + p), 0, view.geometry.slices, view.geometry.slices);
  }
  template <class Scratch> MBIRK_NOINLINE void add_batch(index_t batch, index_t v, Scratch const& s) const noexcept {
    auto x = s.template at<float>(tile);
    for (index_t g = batches.first(batch); g < batches.first(batch + 1); ++g, x = x + tile_size())
      add_view(groups[g], v, x, s);
  }

 private:
  MBIRK_HD index_t tile_size() const noexcept { return group_pixels * view.padded_slices; }

  template <class Scratch>
  MBIRK_HD void add_view(pixel_group const& group, index_t v, typename B::template cursor<float const> tiles,
                         Scratch const& s) const noexcept {
    auto const sum = view.prepare(group, v, true, false, s);
    float const centre = view.prepare_secants(v, sum, s);
    auto window = view.first_window(sum.widest);
    do {
      view.channel_weights(group, window, 1, false, s);
      view.each_run(group, sum, true, s, [&](auto form, int from, int to) MBIRK_FLAT {
        if (view.mirrored) add_pixels<2, form()>(tiles, v, from, to, centre, window.taps, s);
        else add_pixels<1, form()>(tiles, v, from, to, centre, window.taps, s);
      });
      B::note_lanes(group.count * shape.rows, group.count * shape.width);
    } while (view.next_window(window, sum.widest));
  }

  /// Pixels [from, to), whose steps have the same form. Halves: 2 in a mirrored view, where both halves have the same
  /// weights, else 1.
  template <int Halves, resample_form Form, class Scratch>
  MBIRK_INLINE void add_pixels(typename B::template cursor<float const> tiles, index_t v, int from, int to,
                               float centre, int taps, Scratch const& s) const noexcept {
    auto const add = [&](auto count) MBIRK_FLAT { add_pixels<Halves, Form>(count, tiles, v, from, to, centre, s); };
    if constexpr (Form == resample_form::general) add(simd::bounded<3>{taps});  // may be slow
    else if (taps == 2) add(simd::constant<2>{});
    else add(simd::constant<3>{});
  }

  template <int Halves, resample_form Form, class Taps, class Scratch>
  MBIRK_NOINLINE void add_pixels(Taps taps, typename B::template cursor<float const> tiles, index_t v, int from, int to,
                                 float centre, Scratch const& s) const noexcept {
    // Hoisted: the compiler must assume that the stores below may alias *this.
    auto const u = s.template at<float>(cylinder) + resample_guard<B>;
    auto const pixels = view.found(s);
    auto const secants = s.template at<float>(view.secants), slopes = secants + view.padded_slices;
    auto const elevations = view.elevations + v * view.elevation_stride;
    auto const whole_view = sinogram + shape.offset(0, v);
    index_t const padded = view.padded_slices, length = padded / Halves, apart = view.apart(padded),
        width = shape.width;
    pack const middle = B::broadcast(centre);
    for (int p = from; p < to; ++p) {
      index_t const first = I::load_value(pixels.reach_first() + p), end = I::load_value(pixels.reach_end() + p);
      if (first >= end) continue;
      // Voxel column times sec phi.
      auto const x = tiles + p * padded;
      pack const square = B::load_broadcast(pixels.square() + p);
      auto const put = [&](index_t k, pack secant) MBIRK_FLAT {
        simd::unrolled<Halves>([&](auto h) MBIRK_FLAT {
          B::store(u + (h * apart + k), secant * B::load(x + (h * length + k)));
        });
      };
      if (centre >= 0) {
        pack const away = square - middle;
        for (index_t k = 0; k < length; k += B::lanes) put(k, fma(away, B::load(slopes + k), B::load(secants + k)));
      } else {
        for (index_t k = 0; k < length; k += B::lanes)
          put(k, definition::elevation_secant(square, B::load(elevations + k)));
      }
      // Rows: the voxel column resampled onto its channels.
      auto const y = whole_view + index_t{I::load_value(pixels.first_channel + p)} * width;
      pack weight[Taps::max_value];
      taps.each([&](auto t) MBIRK_FLAT {
        weight[t] = B::load_broadcast(pixels.weights + (t * group_pixels + p));
      });
      auto slices = pixels.template resampler_at<Form, 1>(p, u, length, first);
      for (index_t r = first * B::lanes; r < end * B::lanes; r += B::lanes) {
        pack value[Halves];
        slices.next(value, apart);
        taps.each([&](auto t) MBIRK_FLAT {
          auto const to_channel = y + (t * width + r);
          B::store(to_channel, fma(weight[t], value[0], B::load(to_channel)));
        });
        if constexpr (Halves == 2) {
          pack const upper = reversed<B>(value[1]);
          taps.each([&](auto t) MBIRK_FLAT {
            auto const to_channel = y + (t * width + (width - B::lanes - r));
            B::store(to_channel, fma(weight[t], upper, B::load(to_channel)));
          });
        }
      }
    }
  }
};

/// Forward projection with an epilogue that processes the views of a task once they are summed (epilogue.hpp).
template <class B, class Epilogue = store_epilogue<B>> struct cone_forward : cone_views<B> {
  Epilogue epilogue{};

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    Epilogue out = epilogue;
    out.begin();
    this->begin(s);
    index_t const from = task * this->views_per_task, to = min(this->view.geometry.views, from + this->views_per_task);
    index_t const batches = this->batches.count;
    bool const far = this->groups.size() * group_pixels * this->view.padded_slices > prefetch_threshold;
    for (index_t b = 0; b < batches || b == 0; ++b) {
      if (b < batches) this->copy_batch(b, s);
      for (index_t v = from; v < to; ++v) {
        if (b == 0) this->clear_view(v);
        if (b < batches) this->add_batch(b, v, s);
        if (far) this->prefetch_batch(b + 1, v - from, to - from);
        if (b + 1 >= batches) out.view(this->sinogram + this->shape.offset(0, v), 0, v);
      }
    }
    out.end(task);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
