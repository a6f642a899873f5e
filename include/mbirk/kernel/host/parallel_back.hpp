// Tuned parallel back projection: a task owns a batch of groups of pixels; blocks of views are summed in registers over
// a chunk of slices. Source of the structure: register accumulators over views as in the MBIRJAX notes of 2026; the
// guard channels and tap classes are mbirk's own.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Sums over views of weights times samples for the pixels of groups. Derived kernels decide which views, pixels and
/// chunks a task owns.
template <class B> struct parallel_sums {
  using I = typename B::index_backend;
  static constexpr int views_at_once = 8;
  static constexpr int most_packs = most_chunk_packs<B>;

  typename B::template cursor<float const> sinogram;              // channel-major
  typename I::template cursor<std::int32_t const> rows, cols;     // rows and columns of the planned pixels
  typename I::template cursor<view_taps const> passes;
  chunked_shape shape;
  bool squared;
  device_span<pixel_group> groups;
  group_batches batches;
  scratch_layout layout{};
  scratch_part first{}, weights{};

  void plan_scratch() {
    first = layout.add<std::int32_t>("first channel", batches.largest() * firsts_size);
    weights = layout.add<float>("weights", batches.largest() * weights_size);
  }

 protected:
  /// Floats per voxel column of partial sums.
  MBIRK_HD index_t length() const noexcept { return shape.chunks * shape.width; }

  /// Adds passes [from, to), all with Taps taps, to the sums x (pixels, length()) of a batch, in blocks of at_once
  /// passes. Tile: the groups are tiles. share: elements of the next block that each pixel prefetches (prefetch_share).
  /// before(first pass, passes, chunk) is called before the passes are read.
  template <int Taps, bool Tile, class Scratch, class Before>
  MBIRK_INLINE void add_passes(device_span<pixel_group> batch, index_t from, index_t to, index_t at_once, index_t share,
                               typename B::template cursor<float> x, Scratch const& s,
                               Before const& before) const noexcept {
    auto const l = s.template at<std::int32_t>(first);
    auto const w = s.template at<float>(weights);
    index_t const count = batch.size();
    for (index_t block = from; block < to; block += at_once) {
      int const n = static_cast<int>(min<index_t>(at_once, to - block));
      index_t view_offset[views_at_once];
      for (int v = 0; v < n; ++v) {
        auto const pass = I::load_value(passes + (block + v));
        view_offset[v] = shape.offset(0, pass.view);
        for (index_t g = 0; g < count; ++g) {
          weigh(pass, batch[g], Tile, l + (g * firsts_size + v * group_pixels),
                w + (g * weights_size + v * group_pixels));
        }
      }
      for (index_t c = 0; c < shape.chunks; ++c) {
        before(block, n, c);
        auto const chunk = sinogram + shape.offset(c, 0);
        windows next;
        for (index_t g = 0; g < count; ++g) {
          if (Tile || g == 0) next = next_windows<Tile>(batch[g], block, at_once, to, c, share);
          with_packs<B, most_packs>(shape.packs, [&](auto packs) MBIRK_FLAT {
            accumulate<Taps>(packs, batch[g].count, n, view_offset, chunk, l + g * firsts_size,
                             w + g * weights_size,
                             x + ((batch[g].first - batch[0].first) * length() + c * shape.width), next);
          });
          if constexpr (!Tile) next.begin += batch[g].count * next.share;
          B::note_lanes(batch[g].count * n * shape.used(c), batch[g].count * n * shape.width);
        }
      }
    }
  }

 private:
  static constexpr index_t firsts_size = views_at_once * group_pixels, weights_size = 3 * firsts_size;

  /// First channels and weights of the pixels of a group in a pass.
  MBIRK_NOINLINE void weigh(view_taps const& pass, pixel_group const& group, bool tile,
                            typename I::template cursor<std::int32_t> l,
                            typename I::template cursor<float> w) const noexcept {
    footprint_weights<I>(pass, squared, shape.channels, tile, rows + group.first, cols + group.first, group.count, l,
                         [&](int tap, int k, auto value) MBIRK_FLAT {
                           I::store(w + (tap * views_at_once * group_pixels + k), value);
                         });
  }

  /// The next block or chunk: its address in every view, and the elements of it that each pixel prefetches while the
  /// current one is summed.
  struct windows {
    bool tile = false;
    int views = 0;
    typename B::template cursor<float const> at[views_at_once] = {};
    index_t begin = 0, share = 0, end = 0;  // lists only, in elements: offset of the first pixel, share per pixel, end
  };
  /// Empty if the sinogram may be cached. A tile only reads a few channels of a view.
  template <bool Tile>
  MBIRK_HD windows next_windows(pixel_group const& group, index_t block, index_t at_once, index_t to, index_t chunk,
                                index_t share) const noexcept {
    bool const same_views = chunk + 1 < shape.chunks;
    index_t const first = same_views ? block : block + at_once;
    windows next;
    next.tile = Tile;
    if constexpr (!Tile) {
      next.share = share;
      next.end = shape.view_size();
    }
    if (Tile ? shape.size() <= prefetch_threshold : share == 0) return next;
    for (; next.views < at_once && first + next.views < to; ++next.views) {
      auto const pass = I::load_value(passes + (first + next.views));
      index_t const channel = Tile ? tile_begin(pass, shape.channels, I::load_value(rows + group.first),
                                                I::load_value(cols + group.first))
                                   : 0;
      next.at[next.views] = sinogram + (shape.offset(same_views ? chunk + 1 : 0, pass.view) + channel * shape.width);
    }
    return next;
  }

  template <int Taps, class Packs>
  MBIRK_NOINLINE void accumulate(Packs packs, int count, int views, index_t const* view_offset,
                                 typename B::template cursor<float const> chunk,
                                 typename I::template cursor<std::int32_t> l, typename I::template cursor<float> w,
                                 typename B::template cursor<float> x, windows const& next) const noexcept {
    using pack = typename B::pack;
    for (int p = 0; p < count; ++p) {
      if (next.tile) {
        if (p < tile_channels * packs)  // one pack of each window
          for (int v = 0; v < next.views; ++v) prefetch_read(next.at[v] + p * B::lanes);
      } else {
        index_t const from = next.begin + p * next.share;
        for (index_t k = from; k < min(from + next.share, next.end); k += cache_line_floats)
          for (int v = 0; v < next.views; ++v) prefetch_read(next.at[v] + k);
      }
      auto const out = x + p * length();
      pack sum[Packs::max_value];
      packs.each([&](auto i) MBIRK_FLAT { sum[i] = B::load(out + i * B::lanes); });
      for (int v = 0; v < views; ++v) {
        auto const y = chunk + (view_offset[v] +
                                index_t{I::load_value(l + (v * group_pixels + p))} * (packs * B::lanes));
        simd::unrolled<Taps>([&](auto t) MBIRK_FLAT {
          pack const weight = B::load_broadcast(w + ((t * views_at_once + v) * group_pixels + p));
          packs.each([&](auto i) MBIRK_FLAT { sum[i] = fma(weight, B::load(y + (t * packs + i) * B::lanes), sum[i]); });
        });
      }
      packs.each([&](auto i) MBIRK_FLAT { B::store(out + i * B::lanes, sum[i]); });
    }
  }
};

/// A task is a batch of groups with all views and chunks.
template <class B> struct parallel_back : parallel_sums<B> {
  using base = parallel_sums<B>;
  using I = typename B::index_backend;
  // A list reads much of a view, and L2 holds this many views.
  static constexpr int far_list_views_at_once = 4;

  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<index_t const> offsets;  // offsets of the planned pixels' voxel columns
  index_t two_tap_passes, all_passes;                  // passes are sorted: two taps first, then three
  scratch_part tile{};

  void plan_scratch() {
    tile = this->layout.template add<float>("tile", this->batches.largest() * group_pixels * this->length());
    base::plan_scratch();
  }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const batch = this->batches.of(task, this->groups);
    auto const x = s.template at<float>(tile);
    index_t const pixels = batch[batch.size() - 1].first + batch[batch.size() - 1].count - batch[0].first;
    for (index_t k = 0; k < pixels * this->length(); k += B::lanes) B::store(x + k, B::constant(0));
    if (batch[0].tile_mask != 0) run<true>(batch, x, s);
    else run<false>(batch, x, s);
    for (index_t p = 0; p < pixels; ++p)
      copy_unpadded<B>(x + p * this->length(), voxel_columns + I::load_value(offsets + (batch[0].first + p)),
                       this->shape.rows);
  }

 private:
  template <bool Tile, class Scratch>
  MBIRK_HD void run(device_span<pixel_group> batch, typename B::template cursor<float> x,
                    Scratch const& s) const noexcept {
    index_t const at_once =
        Tile || this->shape.size() <= prefetch_threshold ? base::views_at_once : far_list_views_at_once;
    index_t const share = Tile ? 0 : prefetch_share(batch, this->shape);
    auto const nothing = [](index_t, int, index_t) {};
    this->template add_passes<2, Tile>(batch, 0, two_tap_passes, at_once, share, x, s, nothing);
    this->template add_passes<3, Tile>(batch, two_tap_passes, all_passes, at_once, share, x, s, nothing);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
