// Cone back projection on a device: a block owns 32 pixels of a group over a range of the slices, a warp four of them,
// with accumulators in registers over all views. Per-pixel data that is common to all slices is in shared memory for
// eight views at a time, computed one pixel per lane. Then lanes are slices, which gather their rows from the channels
// of a footprint.
#pragma once

#include <cmath>

#include "mbirk/core/device_span.hpp"
#include "mbirk/exec/tuning.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/kernel/device/staged_resample.hpp"
#include "mbirk/kernel/shared/cone_taps.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Footprint of a pixel in a view, read as three 128-bit words.
struct alignas(16) cone_pixel {
  float weight[3];
  std::int32_t first;  // channel, guards counted
  lane_line line;
  float square;        // squared magnification
  std::int32_t taps;   // 0, 2 or 3
};
static_assert(sizeof(cone_pixel) == 48);

/// Voxels that a block owns: first pixel and first slice, number of pixels.
struct owned_voxels {
  index_t first, slice;
  int count;
};

/// Power: exponent of the weights. Unit: the sinogram is 1 everywhere and is not read (Hessian diagonal).
template <class B, int Power, bool Unit> struct cone_block_back {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using wide = typename I::wide;
  static constexpr int warps = 8, pixels_of_warp = 4, pixels_of_block = warps * pixels_of_warp,
      blocks_of_group = group_pixels / pixels_of_block;
  static constexpr int most_packs = 7;
  static_assert(pixels_of_block == warp_lanes, "a warp finds the pixels of one view");
  static constexpr launch_bounds bounds{warps * warp_lanes, 2};
  static constexpr int min_blocks(int capability) { return exec::tuning_for(capability).cone_back_blocks; }
  /// Pieces of `packs` packs of slices: as long as registers allow, or shorter if the groups of a list would make few
  /// blocks. A grid, for which `listed` is 0, has the same pieces in any part of its pixels, so that they round alike.
  static pack_pieces pieces_of(index_t packs, index_t listed) noexcept {
    index_t most = most_packs;
    if (listed > 0)
      while (most > 1 && 4 * warps * blocks_of_group * listed * ceil_div(packs, most) < tasks_of_a_device) --most;
    return {packs, most};
  }
  template <class Block> struct shared {
    typename Block::template tile<cone_pixel, warps, pixels_of_block> pixels;  // one view per warp
    typename Block::template tile<float, warps> widest;
    typename Block::template tile<cone_geometry, 1> geometry;
    typename Block::template tile<owned_voxels, 1> owned;
    typename Block::template tile<float, Unit ? 1 : warps * staged_cells<most_packs>> rows;  // of a pixel's channels
  };

  cone_geometry geometry;
  typename B::template cursor<float const> sinogram;           // channel-major, one chunk; unused if Unit
  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<view_position const> positions;
  typename B::template cursor<float const> elevations;         // t_k of every slice, padded to whole packs
  index_t elevation_stride;                                    // between views
  chunked_shape shape;
  pack_pieces pieces;                                          // pieces of the slices
  device_span<pixel_group> groups;

  index3 grid() const noexcept {
    return {static_cast<int>(groups.size() * blocks_of_group), static_cast<int>(pieces.count()), 1};
  }

  /// Blocks are (half of a group, piece).
  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    with_packs<B, most_packs>(pieces.packs_of(block.index().y), [&](auto packs) MBIRK_FLAT {
      project(packs, block, sh);
    });
  }

 private:
  template <class Packs, class Block>
  MBIRK_HD void project(Packs packs, Block const& block, shared<Block>& sh) const noexcept {
    pixel_group const group = groups[block.index().x / blocks_of_group];
    int const skipped = block.index().x % blocks_of_group * pixels_of_block;
    if (group.count <= skipped) return;  // uniform across the block
    int const warp = block.warp_rank(), lane = block.warp().lane(), own = warp * pixels_of_warp;

    // Reloaded from shared memory for every stage: otherwise these, and values derived from them, would occupy
    // registers that the accumulators need.
    if (block.rank() == 0) {
      sh.geometry(0) = geometry;
      sh.owned(0) = {group.first + skipped, pieces.first(block.index().y),
                     min(group.count - skipped, int{pixels_of_block})};
    }
    block.sync();
    pack sum[pixels_of_warp][Packs::max_value];
    simd::static_for<pixels_of_warp>([&](auto q) MBIRK_FLAT {
      packs.each([&](auto i) MBIRK_FLAT { sum[q][i] = B::constant(0); });
    });
    for (int base = 0, all_views = static_cast<int>(shape.views); base < all_views; base += warps) {
      int const views = min(int{warps}, all_views - base);
      bool more = true;
      for (int tap0 = 0; more; tap0 += 3) {  // windows of three channels; almost always one
        float widest = 0;
        if (warp < views) {
          cone_pixel pixel;
          widest = find_pixels(sh.geometry(0), sh.owned(0), I::load_value(positions + (base + warp)), tap0, pixel);
          sh.pixels(warp, lane) = pixel;
        }
        if (lane == 0) sh.widest(warp) = widest;
        block.sync();
        float const one_of_them = sh.widest(lane % warps);
        more = tap0 + 3 < static_cast<int>(std::ceil(reduce_max<B>(B::broadcast(one_of_them)))) + 1;
        for (int v = 0; v < views; ++v) add_view(packs, block, sh, v, base + v, own, sum);
        block.sync();
      }
    }
    owned_voxels const voxels = sh.owned(0);
    simd::static_for<pixels_of_warp>([&](auto q) MBIRK_FLAT {
      if (own + q >= voxels.count) return;
      auto const out = voxel_columns + (I::load_value(offsets + (voxels.first + own + q)) + voxels.slice);
      packs.each([&](auto i) MBIRK_FLAT {
        index_t const left = geometry.slices - voxels.slice - i * B::lanes;
        if (left > 0) store_lanes<B>(out + i * B::lanes, sum[q][i], min<index_t>(left, B::lanes));
      });
    });
  }

  /// Computes the footprint of one pixel per lane, with taps tap0, tap0 + 1 and tap0 + 2; one that does not exist has
  /// no taps. Returns the widest footprint, in channels.
  MBIRK_INLINE float find_pixels(cone_geometry const g, owned_voxels const voxels, view_position const& at, int tap0,
                                 cone_pixel& pixel) const noexcept {
    cone_footprints<I> const footprints(g, at, voxels.slice);
    auto const f = footprints.of(I::load_ints(rows + voxels.first), I::load_ints(cols + voxels.first));
    auto const span = clip_to_detector<I>(g, f.channel);
    // The means over rows leave out W_r.
    wide const length = Power == 1 ? f.channel.chord * f.row_width : f.channel.chord;
    cone_taps<I> const taps(g, {3, tap0, true});
    wide const place = taps.first(span.cell);
    pixel.first = I::element(taps.index(place));
    if constexpr (Unit) pixel.weight[1] = pixel.weight[2] = 0;
    taps.weigh(Power, Unit, place, span.fraction, span.width, length, definition::same_type{},
               [&](int tap, wide weight) MBIRK_FLAT { pixel.weight[tap] = I::element(I::to_pack(weight)); });
    pixel.taps = pixel.weight[2] != 0 ? 3 : pixel.weight[0] != 0 || pixel.weight[1] != 0 ? 2 : 0;
    if (I::element(I::iota()) >= voxels.count) pixel.taps = 0;

    double const start = I::element(footprints.row_edge(f)), step = I::element(f.row_width);
    pixel.line = make_line(start, step, static_cast<float>(Power == 1 ? 1 / step : step));
    pixel.square = I::element(I::to_pack(f.magnification * f.magnification));
    return reduce_max<I>(I::to_pack(span.width));
  }

  template <class Packs, class Block>
  MBIRK_INLINE void add_view(Packs packs, Block const& block, shared<Block>& sh, int at, int view, int own,
                             pack (&sum)[pixels_of_warp][Packs::max_value]) const noexcept {
    owned_voxels const voxels = sh.owned(0);
    auto const elevation = elevations + (view * elevation_stride + voxels.slice);
    pack t[Packs::max_value];
    packs.each([&](auto i) MBIRK_FLAT { t[i] = B::load(elevation + i * B::lanes); });
    // Not unrolled: the code for a pixel is long, and only its last step needs compile-time register indices.
    for (int q = 0; q < pixels_of_warp; ++q) {
      cone_pixel const pixel = sh.pixels(at, own + q);
      if (pixel.taps == 0) continue;
      pack value[Packs::max_value];
      if (pixel.line.form == resample_form::general) {
        gather_slices<resample_form::general>(packs, pixel, view, value);
      } else if constexpr (Unit) {
        bool const two = pixel.line.form == resample_form::two_tap;
        if (two) gather_slices<resample_form::two_tap>(packs, pixel, view, value);
        else gather_slices<resample_form::three_tap>(packs, pixel, view, value);
      } else {
        if (pixel.taps == 2) stage_rows<2>(packs, block, sh, pixel, view);
        else stage_rows<3>(packs, block, sh, pixel, view);
        block.warp().sync();
        bool const two = pixel.line.form == resample_form::two_tap;
        if (two) take_slices<resample_form::two_tap>(packs, block, sh, pixel, value);
        else take_slices<resample_form::three_tap>(packs, block, sh, pixel, value);
        block.warp().sync();  // the rows are no longer read
      }
      multiply_secants(packs, pixel, t, value);
      simd::static_for<pixels_of_warp>([&](auto p) MBIRK_FLAT {
        if (p != q) return;
        packs.each([&](auto i) MBIRK_FLAT { sum[p][i] = sum[p][i] + value[i]; });
      });
    }
  }

  /// First row of the first channel of a pixel in a view.
  MBIRK_INLINE auto first_row(cone_pixel const& pixel, index_t view) const noexcept {
    return sinogram + (shape.offset(0, view) + index_t{pixel.first} * shape.width);
  }
  /// Weighted sum of the channels of a pixel; channel(c): values of channel c.
  template <int Taps, class Channel>
  static MBIRK_INLINE pack add_channels(cone_pixel const& pixel, Channel const& channel) noexcept {
    pack total = B::broadcast(pixel.weight[0]) * channel(0);
    simd::static_for<Taps - 1>([&](auto c) MBIRK_FLAT {
      total = fma(B::broadcast(pixel.weight[c + 1]), channel(c + 1), total);
    });
    return total;
  }

  /// Resamples rows to slices: each lane loads the rows of its slice.
  template <resample_form Form, class Packs>
  MBIRK_INLINE void gather_slices(Packs packs, cone_pixel const& pixel, index_t view,
                                  pack (&value)[Packs::max_value]) const noexcept {
    auto const y = first_row(pixel, view);
    lane_resampler<B, Form, Power> rows_of(pixel.line, static_cast<std::int32_t>(shape.rows));
    rows_of.run(packs, value, [&](typename B::ints r) MBIRK_FLAT {
      if constexpr (Unit) return B::constant(1);
      else return add_channels<3>(pixel, [&](int c) MBIRK_FLAT { return B::gather(y + c * shape.width, r); });
    });
  }
  /// Puts the rows of a pixel, its channels weighted and summed, into shared memory.
  template <int Taps, class Packs, class Block>
  MBIRK_INLINE void stage_rows(Packs packs, Block const& block, shared<Block>& sh, cone_pixel const& pixel,
                               index_t view) const noexcept {
    auto const y = first_row(pixel, view);
    staged_line<B> const line(pixel.line, staged_at(block));
    line.stage(packs, sh.rows, static_cast<std::int32_t>(shape.rows), [&](typename B::ints r, bool exists) MBIRK_FLAT {
      return add_channels<Taps>(pixel, [&](int c) MBIRK_FLAT {
        return B::gather_where(y + c * shape.width, r, exists);
      });
    });
  }
  /// Resamples the rows in shared memory to slices.
  template <resample_form Form, class Packs, class Block>
  MBIRK_INLINE void take_slices(Packs packs, Block const& block, shared<Block>& sh, cone_pixel const& pixel,
                                pack (&value)[Packs::max_value]) const noexcept {
    staged_resampler<B, Form, Power> const slices_of(pixel.line, staged_at(block));
    packs.each([&](auto i) MBIRK_FLAT { value[i] = slices_of.at(i, sh.rows); });
  }
  /// Where the rows of a warp begin in shared memory.
  template <class Block> static MBIRK_INLINE int staged_at(Block const& block) noexcept {
    return block.warp_rank() * staged_cells<most_packs>;
  }

  template <class Packs>
  MBIRK_INLINE void multiply_secants(Packs packs, cone_pixel const& pixel, pack const (&t)[Packs::max_value],
                                     pack (&value)[Packs::max_value]) const noexcept {
    pack const square = B::broadcast(pixel.square);
    pack const one = Unit ? B::broadcast(pixel.weight[0]) : B::constant(1), slope = Unit ? square * one : square;
    packs.each([&](auto i) MBIRK_FLAT {
      if constexpr (Power == 2) value[i] = fma(slope, t[i], one) * value[i];  // sec^2 = 1 + G t
      else value[i] = definition::elevation_secant(square, t[i]) * value[i];
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
