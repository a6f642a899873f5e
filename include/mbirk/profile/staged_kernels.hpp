// The stages of the projectors as separate kernels: values that the tuned kernels keep in registers and scratch between
// two stages are stored in arrays here. They measure what fusing saves; formulas, footprints and inner loops are the
// same as in the tuned kernels.
#pragma once

#include "mbirk/kernel/host/cone_view.hpp"
#include "mbirk/kernel/host/parallel_forward.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Weights of every pass and planned pixel as arrays: first channels [group][pass][group_pixels], weights
/// [group][pass][3][group_pixels].
template <class B> struct stored_taps {
  using I = typename B::index_backend;
  typename I::template cursor<std::int32_t> first;
  typename I::template cursor<float> weights;
  index_t passes;

  MBIRK_HD index_t at(index_t group, index_t pass) const noexcept { return (group * passes + pass) * group_pixels; }
};

/// Parallel beam, stage "weights". One task per group.
template <class B> struct store_parallel_taps {
  using I = typename B::index_backend;
  typename I::template cursor<std::int32_t const> rows, cols;
  typename I::template cursor<view_taps const> passes;
  stored_taps<B> to;
  index_t channels;
  bool squared;
  device_span<pixel_group> groups;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const& group = groups[task];
    for (index_t p = 0; p < to.passes; ++p) {
      index_t const at = to.at(task, p);
      footprint_weights<I>(I::load_value(passes + p), squared, channels, group.tile_mask != 0, rows + group.first,
                           cols + group.first, group.count, to.first + at, [&](int tap, int k, auto value) MBIRK_FLAT {
                             I::store(to.weights + (3 * at + tap * group_pixels + k), value);
                           });
    }
  }
};

/// Parallel beam, stage "forward": parallel_forward with stored weights and the same tasks.
template <class B> struct parallel_forward_stored : parallel_views<B> {
  using I = typename B::index_backend;
  stored_taps<B> taps;

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    index_t const ranges = this->ranges.size(), chunk = task / ranges;
    auto const range = this->ranges[task % ranges];
    auto const each_pass = [&](auto const& f) {
      for (index_t p = range.first; p < range.first + range.count; ++p) {
        auto const pass = I::load_value(this->passes + p);
        f(p, pass, this->sinogram + this->shape.offset(chunk, pass.view));
      }
    };
    each_pass([&](index_t, view_taps const& pass, auto y) {
      for (index_t k = 0; pass.first_tap == 0 && k < this->shape.view_size(); k += B::lanes)
        B::store(y + k, B::constant(0));
    });
    for (index_t g = 0; g < this->groups.size(); ++g) {
      auto const& group = this->groups[g];
      this->copy_tile(group, chunk, s);
      each_pass([&](index_t p, view_taps const& pass, auto y) { add_pass(g, p, pass, y, chunk, s); });
    }
  }

 private:
  template <class Scratch> MBIRK_NOINLINE void add_pass(index_t g, index_t p, view_taps const& pass,
                                                        typename B::template cursor<float> y, index_t chunk,
                                                        Scratch const& s) const noexcept {
    auto const& group = this->groups[g];
    auto const l = s.template at<std::int32_t>(this->first);
    auto const w = s.template at<float>(this->weights);
    index_t const at = taps.at(g, p);
    for (int k = 0; k < group.count; k += I::lanes) {
      I::store(l + k, I::load_ints(taps.first + (at + k)));
      for (int t = 0; t < pass.taps; ++t)
        I::store(w + (t * group_pixels + k), I::load(taps.weights + (3 * at + t * group_pixels + k)));
    }
    this->sort_group(group, p, s);
    with_packs<B, parallel_views<B>::most_packs>(this->shape.packs, [&](auto packs) MBIRK_FLAT {
      if (pass.taps == 2)
        this->template accumulate_runs<2>(packs, group.count, y, s);
      else
        this->template accumulate_runs<3>(packs, group.count, y, s);
    });
    B::note_lanes(group.count * this->shape.used(chunk), group.count * this->shape.width);
  }
};

/// Parallel beam, stage "back": parallel_back with stored weights. One task per group.
template <class B> struct parallel_back_stored {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  static constexpr int views_at_once = parallel_back<B>::views_at_once;

  typename B::template cursor<float const> sinogram;      // channel-major
  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<index_t const> offsets;
  typename I::template cursor<view_taps const> passes;  // sorted: two-tap passes, then three-tap passes
  stored_taps<B> taps;
  index_t two_tap_passes;
  chunked_shape shape;
  device_span<pixel_group> groups;
  scratch_layout layout{};
  scratch_part tile{};

  void plan_scratch() { tile = layout.add<float>("tile", group_pixels * padded()); }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& group = groups[task];
    auto const x = s.template at<float>(tile);
    for (index_t k = 0; k < group.count * padded(); k += B::lanes) B::store(x + k, B::constant(0));
    run<2>(task, 0, two_tap_passes, x);
    run<3>(task, two_tap_passes, taps.passes, x);
    for (int p = 0; p < group.count; ++p)
      copy_unpadded<B>(x + p * padded(), voxel_columns + I::load_value(offsets + (group.first + p)), shape.rows);
  }

 private:
  MBIRK_HD index_t padded() const noexcept { return shape.chunks * shape.width; }

  template <int Taps>
  MBIRK_HD void run(index_t g, index_t from, index_t to, typename B::template cursor<float> x) const noexcept {
    for (index_t block = from; block < to; block += views_at_once)
      for (index_t c = 0; c < shape.chunks; ++c) {
        index_t const end = min(to, block + views_at_once);
        with_packs<B, parallel_back<B>::most_packs>(
            shape.packs, [&](auto packs) MBIRK_FLAT { accumulate<Taps>(packs, g, block, end, c, x); });
        B::note_lanes(groups[g].count * (end - block) * shape.used(c), groups[g].count * (end - block) * shape.width);
      }
  }
  template <int Taps, class Packs> MBIRK_NOINLINE void accumulate(Packs packs, index_t g, index_t from, index_t to,
                                                                  index_t chunk,
                                                                  typename B::template cursor<float> x) const noexcept {
    index_t view_offset[views_at_once];
    for (index_t v = from; v < to; ++v) view_offset[v - from] = shape.offset(chunk, I::load_value(passes + v).view);
    for (int p = 0; p < groups[g].count; ++p) {
      auto const out = x + (p * padded() + chunk * shape.width);
      pack sum[Packs::max_value];
      packs.each([&](auto i) MBIRK_FLAT { sum[i] = B::load(out + i * B::lanes); });
      for (index_t v = from; v < to; ++v) {
        index_t const at = taps.at(g, v);
        auto const y =
            sinogram + (view_offset[v - from] + index_t{I::load_value(taps.first + (at + p))} * (packs * B::lanes));
        simd::unrolled<Taps>([&](auto t) MBIRK_FLAT {
          pack const weight = B::load_broadcast(taps.weights + (3 * at + t * group_pixels + p));
          packs.each([&](auto i) MBIRK_FLAT { sum[i] = fma(weight, B::load(y + (t * packs + i) * B::lanes), sum[i]); });
        });
      }
      packs.each([&](auto i) MBIRK_FLAT { B::store(out + i * B::lanes, sum[i]); });
    }
  }
};

/// Common part of the cone-beam stages. Columns of views first_view .. first_view + views - 1: [view][planned
/// pixel][shape.width] rows.
template <class B> struct cone_stage {
  using I = typename B::index_backend;
  using pack = typename B::pack;

  cone_view<B> view;
  typename B::template cursor<float> columns;
  typename I::template cursor<index_t const> offsets;  // offsets of the planned pixels' voxel columns
  chunked_shape shape;
  device_span<pixel_group> groups;
  index_t pixels, first_view, views;
  scratch_layout layout{};
  scratch_part line{};  ///< one line of slices or rows, padded with zeros

  void plan_scratch() {
    view.plan_scratch(layout);
    line = layout.add<float>("line", std::max(shape.width, view.padded_slices) + 2 * resample_guard<B>);
  }
  /// Number of tasks of the stages that work on (view, group).
  MBIRK_HD index_t tasks() const noexcept { return views * groups.size(); }

 protected:
  MBIRK_HD index_t view_of(index_t task) const noexcept { return first_view + task / groups.size(); }
  MBIRK_HD auto column(index_t v, index_t pixel) const noexcept {
    return columns + ((v - first_view) * pixels + pixel) * shape.width;
  }

  template <class Scratch>
  MBIRK_HD typename B::template cursor<float> cleared_line(index_t length, Scratch const& s) const noexcept {
    auto const u = s.template at<float>(line);
    for (index_t k = 0; k < length + 2 * resample_guard<B>; k += B::lanes) B::store(u + k, B::constant(0));
    return u + resample_guard<B>;
  }
  /// Calls f(p, window, offset of the first tap in a view, weights) for every pixel of a group and every window of its
  /// taps.
  template <int Power, class Scratch, class F>
  MBIRK_INLINE void each_pixel(pixel_group const& group, float widest, F const& f, Scratch const& s) const noexcept {
    auto window = view.first_window(widest);
    do {
      view.channel_weights(group, window, Power, false, s);
      auto const found = view.found(s);
      for (int p = 0; p < group.count; ++p) {
        auto const w = found.weights + p;
        pack const weight[3] = {B::load_broadcast(w), B::load_broadcast(w + group_pixels),
                                window.taps == 3 ? B::load_broadcast(w + 2 * group_pixels) : B::constant(0)};
        f(p, window, index_t{I::load_value(found.first_channel + p)} * shape.width, weight);
      }
    } while (view.next_window(window, widest));
  }
  /// Secant of the rays' elevation for pack k of the slices at a squared magnification.
  template <class Scratch>
  MBIRK_INLINE pack secant(index_t v, index_t k, float centre, pack square, Scratch const& s) const noexcept {
    if (centre >= 0) {
      auto const value = s.template at<float>(view.secants);
      return fma(square - B::broadcast(centre), B::load(value + (view.padded_slices + k)), B::load(value + k));
    }
    return definition::elevation_secant(square, B::load(view.elevations + (v * view.elevation_stride + k)));
  }
  /// Calls f(first, end, resampler) for a line of `cells`, resampled for pixel p: the resampler yields the elements
  /// [first, end) of the destination.
  template <int Power, class Found, class F>
  MBIRK_INLINE static void resample(typename B::template cursor<float const> u, index_t cells, Found const& found,
                                    int p, F const& f) {
    index_t const first = I::load_value(found.reach_first() + p), end = I::load_value(found.reach_end() + p);
    if (first >= end) return;
    with_form(form_of<B>(step_of<B>(I::load_value(found.advance + p))), [&](auto form) MBIRK_FLAT {
      auto resampled = found.template resampler_at<form(), Power>(p, u, cells, first);
      f(first * B::lanes, end * B::lanes, resampled);
    });
  }
};

/// Cone beam, back projection, stage "channels": columns[p, r] = sum over n of a(v, n; p)^power y[v, n, r].
template <class B, int Power> struct cone_gather_columns : cone_stage<B> {
  using typename cone_stage<B>::pack;
  typename B::template cursor<float const> sinogram;  // channel-major, one chunk

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& group = this->groups[task % this->groups.size()];
    auto const& shape = this->shape;
    index_t const v = this->view_of(task);
    auto const sum = this->view.prepare(group, v, false, Power == 1, s);
    this->template each_pixel<Power>(
        group, sum.widest,
        [&](int p, auto const& window, index_t first, pack const(&weight)[3]) MBIRK_FLAT {
          auto const out = this->column(v, group.first + p);
          auto const y = sinogram + (shape.offset(0, v) + first);
          for (index_t r = 0; r < shape.width; r += B::lanes) {
            pack total = weight[0] * B::load(y + r);
            total = fma(weight[1], B::load(y + (shape.width + r)), total);
            if (window.taps == 3) total = fma(weight[2], B::load(y + (2 * shape.width + r)), total);
            B::store(out + r, window.tap0 == 0 ? total : total + B::load(out + r));
          }
        },
        s);
    B::note_lanes(group.count * shape.rows, group.count * shape.width);
  }
};

/// Cone beam, back projection, stage "rows": x[p, k] += sum over r of b(v, r; p, k)^power columns[p, r].
template <class B, int Power> struct cone_add_slices : cone_stage<B> {
  using typename cone_stage<B>::I;
  using typename cone_stage<B>::pack;
  typename B::template cursor<float> voxel_columns;

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& group = this->groups[task % this->groups.size()];
    auto const& view = this->view;
    index_t const v = this->view_of(task), slices = view.geometry.slices;
    auto const sum = view.prepare(group, v, false, Power == 1, s);
    float const centre = Power == 1 ? view.prepare_secants(v, sum, s) : 0;
    auto const u = this->cleared_line(this->shape.width, s);
    auto const found = view.found(s);
    for (int p = 0; p < group.count; ++p) {
      copy_padded<B>(this->column(v, group.first + p), this->shape.width, u, this->shape.width);
      auto const x = voxel_columns + I::load_value(this->offsets + (group.first + p));
      pack const square = B::load_broadcast(found.square() + p);
      this->template resample<Power>(
          u, this->shape.width, found, p, [&](index_t first, index_t end, auto& rows) MBIRK_FLAT {
            for (index_t k = first; k < end; k += B::lanes) {
              index_t const n = valid_lanes<B>(k, slices);
              pack const factor =
                  Power == 2 ? fma(square, B::load(view.elevations + (v * view.elevation_stride + k)), B::constant(1))
                             : this->secant(v, k, centre, square, s);
              store_lanes<B>(x + k, fma(factor, rows.next(), load_lanes<B>(x + k, n)), n);
            }
          });
    }
    B::note_lanes(group.count * slices, group.count * view.padded_slices);
  }
};

/// Cone beam, projection, stage "rows": columns[p, r] = sum over k of b(v, r; p, k) x[p, k].
template <class B> struct cone_resample_columns : cone_stage<B> {
  using typename cone_stage<B>::I;
  using typename cone_stage<B>::pack;
  typename B::template cursor<float const> voxel_columns;

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& group = this->groups[task % this->groups.size()];
    auto const& view = this->view;
    index_t const v = this->view_of(task);
    auto const sum = view.prepare(group, v, true, false, s);
    float const centre = view.prepare_secants(v, sum, s);
    auto const u = this->cleared_line(view.padded_slices, s);
    auto const found = view.found(s);
    for (int p = 0; p < group.count; ++p) {
      copy_padded<B>(voxel_columns + I::load_value(this->offsets + (group.first + p)), view.geometry.slices, u,
                     view.padded_slices);
      pack const square = B::load_broadcast(found.square() + p);
      for (index_t k = 0; k < view.padded_slices; k += B::lanes)
        B::store(u + k, this->secant(v, k, centre, square, s) * B::load(u + k));
      auto const out = this->column(v, group.first + p);
      index_t r = 0;
      auto const put_zeros = [&](index_t end_of_zeros) MBIRK_FLAT {
        for (; r < end_of_zeros; r += B::lanes) B::store(out + r, B::constant(0));
      };
      this->template resample<1>(u, view.padded_slices, found, p,
                                 [&](index_t first, index_t end, auto& slices) MBIRK_FLAT {
                                   for (put_zeros(first); r < end; r += B::lanes) B::store(out + r, slices.next());
                                 });
      put_zeros(this->shape.width);
    }
    B::note_lanes(group.count * this->shape.rows, group.count * this->shape.width);
  }
};

/// Cone beam, projection, stage "channels": y[v, n, r] = sum over p of a(v, n; p) columns[p, r]. One task per view, so
/// that no two tasks write the same view.
template <class B> struct cone_scatter_columns : cone_stage<B> {
  using typename cone_stage<B>::pack;
  typename B::template cursor<float> sinogram;  // channel-major, one chunk

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& shape = this->shape;
    index_t const v = this->first_view + task;
    auto const whole = sinogram + shape.offset(0, v);
    for (index_t k = 0; k < shape.view_size(); k += B::lanes) B::store(whole + k, B::constant(0));
    for (auto const& group : this->groups) {
      auto const sum = this->view.prepare(group, v, true, false, s);
      this->template each_pixel<1>(
          group, sum.widest,
          [&](int p, auto const& window, index_t first, pack const(&weight)[3]) MBIRK_FLAT {
            auto const from = this->column(v, group.first + p);
            auto const y = whole + first;
            auto const add = [&](index_t at, pack w, pack value)
                                 MBIRK_FLAT { B::store(y + at, fma(w, value, B::load(y + at))); };
            for (index_t r = 0; r < shape.width; r += B::lanes) {
              pack const value = B::load(from + r);
              add(r, weight[0], value);
              add(shape.width + r, weight[1], value);
              if (window.taps == 3) add(2 * shape.width + r, weight[2], value);
            }
          },
          s);
      B::note_lanes(group.count * shape.rows, group.count * shape.width);
    }
  }
};

/// Fills a channel-major sinogram with ones and zero guards, which the Hessian diagonal without weights back-projects.
/// One task per view of a chunk.
template <class B> struct fill_ones {
  typename B::template cursor<float> sinogram;
  chunked_shape shape;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const to = sinogram + task * shape.view_size();
    for (index_t n = 0; n < shape.channels + 2 * guard_channels; ++n)
      for (index_t r = 0; r < shape.width; r += B::lanes) {
        index_t const ones =
            n < guard_channels || n >= guard_channels + shape.channels ? 0 : shape.used(task / shape.views) - r;
        B::store(to + (n * shape.width + r), ones >= B::lanes ? B::constant(1)
                                             : ones > 0       ? B::first_lanes(ones)
                                                              : B::constant(0));
      }
  }
};

/// Multiplies samples by the cosine weights; both are channel-major, the weights without guards. One task per view.
template <class B> struct weigh_samples {
  typename B::template cursor<float const> in, weights;
  typename B::template cursor<float> out;
  chunked_shape shape;

  MBIRK_HD void operator()(index_t view) const noexcept {
    for (index_t c = 0; c < shape.chunks; ++c) {
      index_t const at = shape.offset(c, view) + guard_channels * shape.width;
      for (index_t k = 0; k < shape.channels * shape.width; k += B::lanes)
        B::store(out + (at + k), B::load(in + (at + k)) * B::load(weights + (c * shape.channels * shape.width + k)));
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
