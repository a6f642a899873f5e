// Back projection of multi-axis parallel beam on a device: a block owns 32 pixels of a group over a range of the
// slices, a warp four of them, with accumulators in registers over all passes. Per-pixel data is in shared memory for
// eight passes at a time, computed one pixel per lane. Then lanes are slices, which gather their rows from the channels
// of a footprint.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/exec/tuning.hpp"
#include "mbirk/kernel/device/multiaxis_resample.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Footprint of a pixel in a pass.
struct alignas(16) multiaxis_pixel {
  float weight[3];
  std::int32_t first;  // channel, guards counted
  double edge;         // left edge of slice 0, in rows
};

/// Power: exponent of the weights. Unit: the sinogram is 1 everywhere and is not read (Hessian diagonal).
template <class B, int Power, bool Unit> struct multiaxis_block_back {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using wide = typename I::wide;
  static constexpr int warps = 8, pixels_of_warp = 4, pixels_of_block = warps * pixels_of_warp,
      blocks_of_group = group_pixels / pixels_of_block;
  static constexpr int most_packs = 4;
  static_assert(pixels_of_block == warp_lanes, "a warp finds the pixels of one pass");
  static constexpr launch_bounds bounds{warps * warp_lanes, 2};
  static constexpr int min_blocks(int capability) { return exec::tuning_for(capability).cone_back_blocks; }
  template <class Block> struct shared {
    typename Block::template tile<multiaxis_pixel, warps, pixels_of_block> pixels;  // one pass per warp
  };

  index_t slices;
  typename B::template cursor<float const> sinogram;           // channel-major, one chunk; unused if Unit
  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<multiaxis_taps const> passes;
  index_t all_passes;
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
    int const skipped = block.index().x % blocks_of_group * pixels_of_block, count = group.count - skipped;
    if (count <= 0) return;  // uniform across the block
    index_t const first = group.first + skipped, slice = pieces.first(block.index().y);
    int const warp = block.warp_rank(), lane = block.warp().lane(), own = warp * pixels_of_warp;

    pack sum[pixels_of_warp][Packs::max_value];
    simd::static_for<pixels_of_warp>([&](auto q) MBIRK_FLAT {
      packs.each([&](auto i) MBIRK_FLAT { sum[q][i] = B::constant(0); });
    });
    for (index_t base = 0; base < all_passes; base += warps) {
      int const at_once = static_cast<int>(min<index_t>(warps, all_passes - base));
      if (warp < at_once) sh.pixels(warp, lane) = find_pixel(I::load_value(passes + (base + warp)), first);
      block.sync();
      for (int v = 0; v < at_once; ++v)
        add_pass(packs, sh, v, I::load_value(passes + (base + v)), slice, own, count, sum);
      block.sync();
    }
    simd::static_for<pixels_of_warp>([&](auto q) MBIRK_FLAT {
      if (own + q >= count) return;
      auto const out = voxel_columns + (I::load_value(offsets + (first + own + q)) + slice);
      packs.each([&](auto i) MBIRK_FLAT {
        index_t const left = slices - slice - i * B::lanes;
        if (left > 0) store_lanes<B>(out + i * B::lanes, sum[q][i], min<index_t>(left, B::lanes));
      });
    });
  }

  /// Footprint of the lane's pixel, of those from `first` on. Unit: the first weight is the sum over channels.
  MBIRK_INLINE multiaxis_pixel find_pixel(multiaxis_taps const& pass, index_t first) const noexcept {
    auto const i = I::load_ints(rows + first), j = I::load_ints(cols + first);
    auto const taps = find_taps<I>(pass.channels, Power == 2, shape.channels, i, j);
    multiaxis_pixel pixel{{I::element(taps.weight[0]), I::element(taps.weight[1]), I::element(taps.weight[2])},
                          I::element(taps.first), pass.edge_of(I::element(i), I::element(j))};
    if constexpr (Unit) {
      float sum = 0;
      for (int t = 0; t < 3; ++t) {
        index_t const n = pixel.first + t - guard_channels;
        if (n >= 0 && n < shape.channels) sum += pixel.weight[t];
      }
      pixel.weight[0] = sum;
    }
    return pixel;
  }

  template <class Packs, class Shared>
  MBIRK_INLINE void add_pass(Packs packs, Shared& sh, int at, multiaxis_taps const& pass, index_t slice, int own,
                             int count, pack (&sum)[pixels_of_warp][Packs::max_value]) const noexcept {
    auto const form = multiaxis_form<false>(pass);
    // Not unrolled: the code for a pixel is long, and only its last step needs compile-time register indices.
    for (int q = 0; q < pixels_of_warp && own + q < count; ++q) {
      multiaxis_pixel const pixel = sh.pixels(at, own + q);
      pack value[Packs::max_value];
      bool const two = Unit || pass.channels.taps == 2;
      switch (form) {
        case resample_form::two_tap:
          if (two) find_slices<resample_form::two_tap, 2>(packs, pixel, pass, slice, value);
          else find_slices<resample_form::two_tap, 3>(packs, pixel, pass, slice, value);
          break;
        case resample_form::three_tap:
          if (two) find_slices<resample_form::three_tap, 2>(packs, pixel, pass, slice, value);
          else find_slices<resample_form::three_tap, 3>(packs, pixel, pass, slice, value);
          break;
        case resample_form::general: find_slices<resample_form::general, 3>(packs, pixel, pass, slice, value); break;
      }
      simd::static_for<pixels_of_warp>([&](auto p) MBIRK_FLAT {
        if (p != q) return;
        packs.each([&](auto i) MBIRK_FLAT { sum[p][i] = sum[p][i] + value[i]; });
      });
    }
  }

  /// Contribution of one pass to the slices of a pixel.
  template <resample_form Form, int Taps, class Packs>
  MBIRK_INLINE void find_slices(Packs packs, multiaxis_pixel const& pixel, multiaxis_taps const& pass, index_t slice,
                                pack (&value)[Packs::max_value]) const noexcept {
    auto const y = sinogram + (Unit ? 0 : shape.offset(0, pass.channels.view) + index_t{pixel.first} * shape.width);
    auto const row = [&](typename B::ints r) MBIRK_FLAT {
      if constexpr (Unit) {
        return B::constant(1);
      } else {
        pack total = B::broadcast(pixel.weight[0]) * B::gather(y, r);
        simd::static_for<Taps - 1>([&](auto c) MBIRK_FLAT {
          total = fma(B::broadcast(pixel.weight[c + 1]), B::gather(y + (c + 1) * shape.width, r), total);
        });
        return total;
      }
    };
    // Means over the rows leave out the width of a footprint, which sums contain.
    float scale = Unit ? pixel.weight[0] : 1;
    if constexpr (Form == resample_form::general) {
      gather_lanes<B, Power, false>(
          packs, gathered_taps::towards_slices(pixel.edge, pass.step, pass.width, shape.rows), slice, value, row);
    } else {
      if (Power == 1) scale *= static_cast<float>(pass.width);
      lane_resampler<B, Form, Power> rows_of(multiaxis_lane_line<false, Power>(pass, pixel.edge, slice),
                                             static_cast<std::int32_t>(shape.rows));
      rows_of.run(packs, value, row);
    }
    packs.each([&](auto i) MBIRK_FLAT { value[i] = B::broadcast(scale) * value[i]; });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
