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

/// The channels of a view that contribute to a pixel: none, two or three; `inside` says that all rows that the pixel
/// can meet exist.
enum class cone_reach : std::int32_t { nothing, two, three, two_inside, three_inside };

/// Footprint of a pixel in a view, read as 128-bit words.
struct alignas(16) cone_pixel {
  float weight[3];
  cone_reach reach;
  lane_line line;
  index_t first;  // offset of its first channel in the sinogram
  float square;   // squared magnification
};
static_assert(sizeof(cone_pixel) == 64);

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
          widest = find_pixels(sh.geometry(0), sh.owned(0), base + warp, tap0, packs, pixel);
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

  /// Computes the footprint of one pixel per lane in a view, with taps tap0, tap0 + 1 and tap0 + 2, for so many packs
  /// of slices; one that does not exist takes nothing. Returns the widest footprint, in channels.
  MBIRK_INLINE float find_pixels(cone_geometry const g, owned_voxels const voxels, index_t view, int tap0, int packs,
                                 cone_pixel& pixel) const noexcept {
    cone_footprints<I> const footprints(g, I::load_value(positions + view), voxels.slice);
    auto const f = footprints.of(I::load_ints(rows + voxels.first), I::load_ints(cols + voxels.first));
    auto const span = clip_to_detector<I>(g, f.channel);
    // The means over rows leave out W_r.
    wide const length = Power == 1 ? f.channel.chord * f.row_width : f.channel.chord;
    cone_taps<I> const taps(g, {3, tap0, true});
    wide const place = taps.first(span.cell);
    pixel.first = shape.offset(0, view) + I::element(taps.index(place)) * shape.width;
    if constexpr (Unit) pixel.weight[1] = pixel.weight[2] = 0;
    taps.weigh(Power, Unit, place, span.fraction, span.width, length, definition::same_type{},
               [&](int tap, wide weight) MBIRK_FLAT { pixel.weight[tap] = I::element(I::to_pack(weight)); });
    double const start = I::element(footprints.row_edge(f)), step = I::element(f.row_width);
    pixel.line = make_line(start, step, static_cast<float>(Power == 1 ? 1 / step : step));
    pixel.square = I::element(I::to_pack(f.magnification * f.magnification));
    bool const third = pixel.weight[2] != 0, any = third || pixel.weight[0] != 0 || pixel.weight[1] != 0;
    bool const inside = all_cells_exist(pixel.line, packs, static_cast<std::int32_t>(shape.rows));
    if (!any || I::element(I::iota()) >= voxels.count) pixel.reach = cone_reach::nothing;
    else if (inside) pixel.reach = third ? cone_reach::three_inside : cone_reach::two_inside;
    else pixel.reach = third ? cone_reach::three : cone_reach::two;
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
      if (pixel.reach == cone_reach::nothing) continue;
      pack value[Packs::max_value];
      if (pixel.line.form == resample_form::general) {
        gather_slices<resample_form::general>(packs, pixel, value);
      } else if constexpr (Unit) {
        bool const two = pixel.line.form == resample_form::two_tap;
        if (pixel.reach >= cone_reach::two_inside) {
          if (two) sum_ones<resample_form::two_tap>(packs, pixel, value);
          else sum_ones<resample_form::three_tap>(packs, pixel, value);
        } else if (two) {
          gather_slices<resample_form::two_tap>(packs, pixel, value);
        } else {
          gather_slices<resample_form::three_tap>(packs, pixel, value);
        }
      } else {
        if (pixel.reach == cone_reach::two_inside) stage_rows<2, true>(packs, block, sh, pixel);
        else if (pixel.reach == cone_reach::three_inside) stage_rows<3, true>(packs, block, sh, pixel);
        else if (pixel.reach == cone_reach::two) stage_rows<2, false>(packs, block, sh, pixel);
        else stage_rows<3, false>(packs, block, sh, pixel);
        block.warp().sync();
        bool const two = pixel.line.form == resample_form::two_tap;
        if (two) take_slices<resample_form::two_tap>(packs, block, sh, pixel, value);
        else take_slices<resample_form::three_tap>(packs, block, sh, pixel, value);
      }
      pack secant[Packs::max_value];
      find_secants(packs, pixel, t, secant);
      simd::static_for<pixels_of_warp>([&](auto p) MBIRK_FLAT {
        if (p != q) return;
        // The rows are no longer read. Here, the barrier also keeps the compiler from executing the additions of all
        // pixels, three of four in vain.
        block.warp().sync();
        packs.each([&](auto i) MBIRK_FLAT { sum[p][i] = fma(secant[i], value[i], sum[p][i]); });
      });
    }
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
  MBIRK_INLINE void gather_slices(Packs packs, cone_pixel const& pixel,
                                  pack (&value)[Packs::max_value]) const noexcept {
    auto const y = sinogram + pixel.first;
    lane_resampler<B, Form, Power> rows_of(pixel.line, static_cast<std::int32_t>(shape.rows));
    rows_of.run(packs, value, [&](typename B::ints r) MBIRK_FLAT {
      if constexpr (Unit) return B::constant(1);
      else return add_channels<3>(pixel, [&](int c) MBIRK_FLAT { return B::gather(y + c * shape.width, r); });
    });
  }
  /// Resamples rows that are 1 and all exist.
  template <resample_form Form, class Packs>
  static MBIRK_INLINE void sum_ones(Packs packs, cone_pixel const& pixel, pack (&value)[Packs::max_value]) noexcept {
    staged_resampler<B, Form, Power> const slices_of(pixel.line, 0);
    packs.each([&](auto i) MBIRK_FLAT { value[i] = slices_of.of_ones(i); });
  }
  /// Puts the rows of a pixel, its channels weighted and summed, into shared memory. Inside: they all exist.
  template <int Taps, bool Inside, class Packs, class Block>
  MBIRK_INLINE void stage_rows(Packs packs, Block const& block, shared<Block>& sh,
                               cone_pixel const& pixel) const noexcept {
    auto const y = sinogram + pixel.first;
    staged_line<B> const line(pixel.line, staged_at(block));
    line.template stage<Inside>(packs, staged_packs(pixel.line, packs), sh.rows,
                                static_cast<std::int32_t>(shape.rows),
                                [&](typename B::ints r, bool exists) MBIRK_FLAT {
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

  /// The secants of the slices, to the power of the weights; if Unit, times the weight of all channels.
  template <class Packs>
  static MBIRK_INLINE void find_secants(Packs packs, cone_pixel const& pixel, pack const (&t)[Packs::max_value],
                                        pack (&secant)[Packs::max_value]) noexcept {
    pack const square = B::broadcast(pixel.square);
    pack const one = Unit ? B::broadcast(pixel.weight[0]) : B::constant(1), slope = Unit ? square * one : square;
    packs.each([&](auto i) MBIRK_FLAT {
      if constexpr (Power == 2) secant[i] = fma(slope, t[i], one);  // sec^2 = 1 + G t
      else secant[i] = definition::elevation_secant(square, t[i]);
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
