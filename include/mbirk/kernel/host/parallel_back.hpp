// Parallel back projection, tuned: a task owns a group of pixels; blocks of views are summed in registers over a chunk of slices.
// Source of the structure: register accumulators over views as in the MBIRJAX notes of 2026; guards and tap classes are ours.
#pragma once

#include "mbirk/core/list.hpp"
#include "mbirk/kernel/host/layout.hpp"
#include "mbirk/kernel/host/plan.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// f(constant<n>) for a run-time 1 <= n <= Most.
template <int Most, class F> MBIRK_INLINE void with_constant(int n, F const& f) {
  [&]<int... I>(std::integer_sequence<int, I...>) MBIRK_FLAT {
    (void)((n == I + 1 && (f(simd::constant<I + 1>{}), true)) || ...);
  }(std::make_integer_sequence<int, Most>{});
}

template <class B> struct parallel_back {
  using G = typename B::geometry;
  static constexpr int views_at_once = 8;
  static constexpr int most_packs = B::lanes == 16 ? 6 : 2;  // accumulators in registers

  typename B::template cursor<float const> sinogram;              // channel-major
  typename B::template cursor<float> cylinders;
  typename G::template cursor<std::int32_t const> rows, cols;     // of the planned pixels
  typename G::template cursor<index_t const> offsets;             // of their cylinders
  typename G::template cursor<parallel_pass const> passes;        // sorted: two taps, then three
  index_t two_tap_passes, all_passes;
  chunked_shape shape;
  bool squared;
  list<pixel_group> groups;                                        // a task each
  scratch_layout layout{};
  scratch_part tile{}, first{}, weights{};

  /// Reserves the scratch parts; called once before the launch.
  void plan_scratch() {
    tile = layout.add<float>("tile", group_pixels * shape.chunks * shape.width);
    first = layout.add<std::int32_t>("first channel", views_at_once * group_pixels);
    weights = layout.add<float>("weights", 3 * views_at_once * group_pixels);
  }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const& group = groups[task];
    auto const x = s.template at<float>(tile);
    for (index_t k = 0; k < group.count * shape.chunks * shape.width; k += B::lanes) B::store(x + k, B::constant(0));
    run<2>(group, 0, two_tap_passes, s);
    run<3>(group, two_tap_passes, all_passes, s);
    for (int p = 0; p < group.count; ++p) {
      auto const out = cylinders + G::load_value(offsets + (group.first + p));
      for (index_t k = 0; k < shape.rows; k += B::lanes) {
        auto const value = B::load(x + (p * shape.chunks * shape.width + k));
        if (k + B::lanes <= shape.rows) B::store(out + k, value);
        else B::store_partial(out + k, value, static_cast<int>(shape.rows - k));
      }
    }
  }

 private:
  template <int Taps, class Scratch> MBIRK_HD void run(pixel_group const& group, index_t from, index_t to, Scratch const& s) const noexcept {
    auto const l = s.template at<std::int32_t>(first);
    auto const w = s.template at<float>(weights);
    auto const x = s.template at<float>(tile);
    bool const far = group.tile_mask != 0 && shape.size() > far_away;
    for (index_t block = from; block < to; block += views_at_once) {
      int const n = static_cast<int>(least<index_t>(views_at_once, to - block));
      index_t view_offset[views_at_once];
      for (int v = 0; v < n; ++v) {
        auto const pass = G::load_value(passes + (block + v));
        view_offset[v] = shape.offset(0, pass.view);
        footprint_weights<G>(pass, squared, shape.channels, group.tile_mask != 0, rows + group.first, cols + group.first, group.count, l + v * group_pixels,
                             [&](int tap, int k, auto value) MBIRK_FLAT { G::store(w + ((tap * views_at_once + v) * group_pixels + k), value); });
      }
      for (index_t c = 0; c < shape.chunks; ++c) {
        auto const chunk = sinogram + shape.offset(c, 0);
        auto const next = far ? next_windows(group, block, to, c) : windows{};
        with_constant<most_packs>(shape.packs, [&](auto packs) MBIRK_FLAT {
          accumulate<packs, Taps>(group.count, n, view_offset, chunk, l, w, x + c * shape.width, next);
        });
        B::note_lanes(group.count * n * shape.used(c), group.count * n * shape.width);
      }
    }
  }

  /// Where a tile reads in the views of a block: a few channels in each.
  struct windows {
    int views = 0;
    typename B::template cursor<float const> at[views_at_once] = {};
  };
  /// What comes after this block and chunk.
  MBIRK_HD windows next_windows(pixel_group const& group, index_t block, index_t to, index_t chunk) const noexcept {
    bool const same_views = chunk + 1 < shape.chunks;
    index_t const first = same_views ? block : block + views_at_once;
    windows next;
    for (; next.views < views_at_once && first + next.views < to; ++next.views) {
      auto const pass = G::load_value(passes + (first + next.views));
      index_t const channel = tile_begin(pass, shape.channels, G::load_value(rows + group.first), G::load_value(cols + group.first));
      next.at[next.views] = sinogram + (shape.offset(same_views ? chunk + 1 : 0, pass.view) + channel * shape.width);
    }
    return next;
  }

  template <int Packs, int Taps>
  MBIRK_NOINLINE void accumulate(int count, int views, index_t const* view_offset, typename B::template cursor<float const> chunk,
                                 typename G::template cursor<std::int32_t> l, typename G::template cursor<float> w,
                                 typename B::template cursor<float> x, windows const& next) const noexcept {
    using pack = typename B::pack;
    for (int p = 0; p < count; ++p) {
      if (p < tile_channels * Packs)  // a pack of each window: some of the next while these are added up
        for (int v = 0; v < next.views; ++v) fetch_to_read(next.at[v] + p * B::lanes);
      auto const out = x + p * shape.chunks * shape.width;
      pack sum[Packs];
      simd::static_for<Packs>([&](auto i) MBIRK_FLAT { sum[i] = B::load(out + i * B::lanes); });
      for (int v = 0; v < views; ++v) {
        auto const y = chunk + (view_offset[v] + index_t{G::load_value(l + (v * group_pixels + p))} * (Packs * B::lanes));
        simd::static_for<Taps>([&](auto t) MBIRK_FLAT {
          pack const weight = B::load_broadcast(w + ((t * views_at_once + v) * group_pixels + p));
          simd::static_for<Packs>([&](auto i) MBIRK_FLAT { sum[i] = fma(weight, B::load(y + (t * Packs + i) * B::lanes), sum[i]); });
        });
      }
      simd::static_for<Packs>([&](auto i) MBIRK_FLAT { B::store(out + i * B::lanes, sum[i]); });
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
