// Parallel back projection of few pixels on a device: the warps of a block share the views of 32 pixels for one pack of
// slices, and then add up what they have. parallel_block_back, whose warps share pixels, would leave most of a device
// idle.
#pragma once

#include "mbirk/exec/block.hpp"
#include "mbirk/kernel/device/parallel_back_arrays.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

template <class B> struct parallel_view_back : parallel_back_arrays<B> {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  static constexpr int warps = 8, pixels_of_block = warp_lanes;
  static constexpr launch_bounds bounds{warps * warp_lanes, 2};
  template <class Block> struct shared {
    typename Block::template tile<shared_taps, warps, pixels_of_block> taps;
    typename Block::template tile<float, warps, pixels_of_block, warp_lanes> sums;
  };

  index_t pixels;

  /// Blocks are (32 pixels, pack).
  index3 grid() const noexcept {
    return {static_cast<int>(ceil_div(pixels, index_t{pixels_of_block})),
            static_cast<int>(this->shape.chunks * this->shape.packs), 1};
  }

  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    int const chunk = block.index().y / this->shape.packs, row = block.index().y % this->shape.packs * B::lanes;
    index_t const first = index_t{block.index().x} * pixels_of_block, left = this->shape.used(chunk) - row;
    if (left <= 0) return;  // uniform across the block
    int const warp = block.warp_rank(), lane = block.warp().lane();
    auto const i = I::load_ints(this->rows + first), j = I::load_ints(this->cols + first);
    pack sum[pixels_of_block];
    simd::static_for<pixels_of_block>([&](auto q) MBIRK_FLAT { sum[q] = B::constant(0); });
    auto const end = static_cast<int>(this->all_passes), width = static_cast<int>(this->shape.width);
    MBIRK_KEEP_LOOP for (int n = warp; n < end; n += warps) {
      auto const pass = I::load_value(this->passes + n);
      auto taps = find_taps<I>(pass, this->squared, this->shape.channels, i, j);
      taps.first = taps.first * I::broadcast(width);
      sh.taps(warp, lane) = share_taps<I>(taps);
      block.warp().sync();
      auto const y = this->sinogram + (this->shape.offset(chunk, pass.view) + row);
      if (pass.taps == 2) add_view<2>(block, sh, warp, y, width, sum);
      else add_view<3>(block, sh, warp, y, width, sum);
      block.warp().sync();  // the taps are no longer read
    }
    simd::static_for<pixels_of_block>([&](auto q) MBIRK_FLAT { sh.sums(warp, q, lane) = B::element(sum[q]); });
    block.sync();
    MBIRK_KEEP_LOOP for (int q = warp; q < pixels_of_block && first + q < pixels; q += warps) {
      auto total = B::constant(0);
      for (int k = 0; k < warps; ++k) total = total + B::broadcast(static_cast<float>(sh.sums(k, q, lane)));
      auto const out = this->voxel_columns + (chunk * this->shape.width + row);
      store_lanes<B>(out + I::load_value(this->offsets + (first + q)), total, min<index_t>(left, B::lanes));
    }
  }

 private:
  /// @param y  the pack of channel 0; taps.first are offsets from there
  template <int Taps, class Block, class Shared>
  MBIRK_INLINE void add_view(Block const& block, Shared& sh, int warp, typename B::template cursor<float const> y,
                             int width, pack (&sum)[pixels_of_block]) const noexcept {
    simd::static_for<pixels_of_block>([&](auto q) MBIRK_FLAT {
      shared_taps const taps = sh.taps(warp, q);
      auto channel = y + taps.first;
      simd::static_for<Taps>([&](auto t) MBIRK_FLAT {
        sum[q] = fma(B::broadcast(taps.weight[t]), B::load(channel), sum[q]);
        channel = channel + width;
      });
      // Without these barriers the compiler reads all taps first, for which there are not enough registers.
      if constexpr (q % 8 == 7) block.warp().sync();
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
