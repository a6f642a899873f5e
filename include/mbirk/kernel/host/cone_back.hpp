// Cone back projection, tuned: a task owns a batch of groups of pixels, and goes through the views with it. Per view and pixel: channels are gathered
// into one column of rows (in L1), which is resampled onto the slices and added, times the secant of the ray's elevation, to the pixel's cylinder.
#pragma once

#include "mbirk/core/list.hpp"
#include "mbirk/kernel/host/cone_view.hpp"
#include "mbirk/kernel/host/lanes.hpp"
#include "mbirk/kernel/host/layout.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Power: of the weights. Unit: the sinogram is 1 everywhere and is not read (Hessian diagonal).
template <class B, int Power, bool Unit> struct cone_back {
  using G = typename B::geometry;
  using pack = typename B::pack;

  cone_view<B> view;
  typename B::template cursor<float const> sinogram;      // channel-major, one chunk; not used when Unit
  typename B::template cursor<float> cylinders;
  typename G::template cursor<index_t const> offsets;     // of the planned pixels' cylinders
  chunked_shape shape;
  list<pixel_group> groups;
  group_batches batches;                                  // a task each
  scratch_layout layout{};
  scratch_part tile{}, column{};

  void plan_scratch() {
    view.plan_scratch(layout);
    tile = layout.add<float>("tile", batches.largest() * tile_size());
    column = layout.add<float>("column", shape.width + 2 * resample_guard<B>);
  }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const batch = batches.of(task, groups);
    auto const x = s.template at<float>(tile);
    auto const u = s.template at<float>(column);
    for (index_t g = 0; g < batch.size(); ++g)
      for (index_t k = 0; k < batch[g].count * view.padded_slices; k += B::lanes) B::store(x + (g * tile_size() + k), B::constant(0));
    for (index_t k = 0; k < shape.width + 2 * resample_guard<B>; k += B::lanes) {
      index_t const ones = Unit ? shape.rows - (k - resample_guard<B>) : 0;  // rows of the detector from here on
      if (k < resample_guard<B> || ones <= 0) B::store(u + k, B::constant(0));
      else B::store(u + k, B::first_lanes(ones));
    }
    next_view const next{batch[0].first, Unit ? 0 : fetched_share(batch, shape)};
    for (index_t v = 0; v < view.geometry.views; ++v)
      for (index_t g = 0; g < batch.size(); ++g) add_view(batch[g], v, x + g * tile_size(), next, s);
    for (index_t g = 0; g < batch.size(); ++g)
      for (int p = 0; p < batch[g].count; ++p)
        copy_unpadded<B>(x + (g * tile_size() + p * view.padded_slices), cylinders + G::load_value(offsets + (batch[g].first + p)), view.geometry.slices);
  }

 private:
  /// What a batch that begins with that pixel fetches of the next view while it works on one: so many elements for every pixel.
  struct next_view {
    index_t first_pixel, share;
  };
  MBIRK_INLINE void fetch(next_view const& next, index_t v, index_t pixel) const noexcept {
    if (next.share == 0 || v + 1 == view.geometry.views) return;
    index_t const from = (pixel - next.first_pixel) * next.share;
    for (index_t k = from; k < least(from + next.share, shape.view_size()); k += fetched_line) fetch_to_read(sinogram + (shape.offset(0, v + 1) + k));
  }

  MBIRK_HD index_t tile_size() const noexcept { return group_pixels * view.padded_slices; }

  template <class Scratch>
  MBIRK_HD void add_view(pixel_group const& group, index_t v, typename B::template cursor<float> x, next_view const& next, Scratch const& s) const noexcept {
    auto const sum = view.prepare(group, v, false, Power == 1, s);
    float const centre = Power == 1 ? view.prepare_secants(v, sum, s) : 0;
    auto window = view.first_window(sum.widest);
    do {
      view.channel_weights(group, window, Power, Unit, s);
      for (int p = 0; p < group.count; ++p) {
        if (window.tap0 == 0) fetch(next, v, group.first + p);
        if constexpr (!Unit) {
          auto const y = sinogram + (shape.offset(0, v) + index_t{G::load_value(s.template at<std::int32_t>(view.first) + p)} * shape.width);
          if (window.taps == 2) gather_channels<2>(y, p, s);
          else gather_channels<3>(y, p, s);
        }
        double const step = G::load_value(s.template at<double>(view.step) + p);
        switch (form_of<B>(step)) {
          case resample_form::two: add_slices<resample_form::two>(x, v, p, step, centre, s); break;
          case resample_form::three: add_slices<resample_form::three>(x, v, p, step, centre, s); break;
          case resample_form::any: add_slices<resample_form::any>(x, v, p, step, centre, s); break;
        }
      }
      B::note_lanes(group.count * view.geometry.slices, group.count * view.padded_slices);
    } while (view.next_window(window, sum.widest));
  }

  template <int Taps, class Scratch>
  MBIRK_INLINE void gather_channels(typename B::template cursor<float const> y, int p, Scratch const& s) const noexcept {
    auto const u = s.template at<float>(column) + resample_guard<B>;
    auto const w = s.template at<float>(view.weights);
    pack weight[Taps];
    simd::static_for<Taps>([&](auto t) MBIRK_FLAT { weight[t] = B::load_broadcast(w + (t * group_pixels + p)); });
    index_t const width = shape.width;  // the stores below could be to `shape`, for all that a compiler knows
    for (index_t r = 0; r < width; r += B::lanes) {
      pack sum = weight[0] * B::load(y + r);
      simd::static_for<Taps - 1>([&](auto t) MBIRK_FLAT { sum = fma(weight[t + 1], B::load(y + ((t + 1) * width + r)), sum); });
      B::store(u + r, sum);
    }
  }

  template <resample_form Form, class Scratch>
  MBIRK_NOINLINE void add_slices(typename B::template cursor<float> tiles, index_t v, int p, double step, float centre, Scratch const& s) const noexcept {
    auto const x = tiles + p * view.padded_slices;
    index_t const length = view.padded_slices;
    auto const u = s.template at<float>(column) + resample_guard<B>;
    double const start = G::load_value(s.template at<double>(view.start) + p);
    resampler<B, Form, Power, Unit> rows(u, Unit ? shape.rows : shape.width, start, step);
    pack const square = B::load_broadcast(s.template at<float>(view.spread) + p);
    auto const elevation = view.elevations + v * view.elevation_stride;
    if constexpr (Power == 2) {  // sec^2 = 1 + G t, times the sum over channels when the sinogram is 1
      pack const one = Unit ? B::load_broadcast(s.template at<float>(view.weights) + p) : B::constant(1);
      pack const slope = Unit ? square * one : square;
      for (index_t k = 0; k < length; k += B::lanes)
        B::store(x + k, fma(fma(slope, B::load(elevation + k), one), rows.next(), B::load(x + k)));
    } else if (centre >= 0) {
      auto const value = s.template at<float>(view.secants), slope = value + length;
      pack const away = square - B::broadcast(centre);
      for (index_t k = 0; k < length; k += B::lanes)
        B::store(x + k, fma(fma(away, B::load(slope + k), B::load(value + k)), rows.next(), B::load(x + k)));
    } else {
      for (index_t k = 0; k < length; k += B::lanes)
        B::store(x + k, fma(definition::elevation_secant(square, B::load(elevation + k)), rows.next(), B::load(x + k)));
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
