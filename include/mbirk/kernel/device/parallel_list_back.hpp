// Parallel back projection of many listed pixels on a device. They lie apart, so that neighbours have few channels in
// common; a block therefore takes many of them for two packs of slices, and reads their channels from L1 after the
// first time. A warp sums 16 pixels, of which its lanes find the taps in two views at once.
#pragma once

#include <cstdint>

#include "mbirk/exec/block.hpp"
#include "mbirk/kernel/device/parallel_back_arrays.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// No footprint is wider than two channels. Packs: of a chunk, an even number.
template <class B, int Packs> struct parallel_list_back : parallel_back_arrays<B> {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  static constexpr int warps = 24, views = 2, pixels_of_warp = warp_lanes / views, packs = 2,
                       pixels_of_block = warps * pixels_of_warp;
  static_assert(Packs % packs == 0);
  static constexpr launch_bounds bounds{warps * warp_lanes, 1};
  template <class Block> struct shared {
    typename Block::template tile<shared_taps, warps, views, pixels_of_warp> taps;
    typename Block::template tile<std::int32_t, warps, views> pass;  // 4 view + taps
  };

  index_t pixels;  ///< `rows` and `cols` have 64 more entries

  /// Blocks are (pixels, two packs).
  index3 grid() const noexcept {
    return {blocks_of_pixels(), static_cast<int>(this->shape.chunks) * (Packs / packs), 1};
  }

  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    int const warp = block.warp_rank(), lane = block.warp().lane(), own = lane / pixels_of_warp,
              chunk = block.index().y / (Packs / packs),
              row = block.index().y % (Packs / packs) * (packs * B::lanes) + packs * lane;
    int const set = block.index().x * warps + warp, first = first_of(set);
    auto const own_pixel = I::broadcast(first + lane % pixels_of_warp);

    pack sum[pixels_of_warp][packs];
    simd::static_for<pixels_of_warp>([&](auto q) MBIRK_FLAT {
      for (auto& of_slice : sum[q]) of_slice = B::constant(0);
    });
    auto const end = static_cast<int>(this->all_passes);
    auto const slices = this->sinogram + (this->shape.offset(chunk, 0) + row);
    MBIRK_KEEP_LOOP for (int n = 0; n < end; n += views) {
      if (n + own < end) {
        // Loaded each time, because registers are short.
        auto const i = I::gather_ints(this->rows, own_pixel), j = I::gather_ints(this->cols, own_pixel);
        auto pass = I::load_value(this->passes + (n + own));
        pass.window = false;  // as in all passes, which the compiler does not know
        auto taps = find_taps<I>(pass, this->squared, this->shape.channels, i, j);
        taps.first = taps.first * I::broadcast(width * static_cast<int>(sizeof(float)));
        if (lane % pixels_of_warp == 0) sh.pass(warp, own) = 4 * pass.view + pass.taps;
        sh.taps(warp, own, lane % pixels_of_warp) = share_taps<I>(taps);
      }
      // The barrier of the block keeps the warps within a few views, so that L1 holds the channels that they have in
      // common. The taps are complete after it.
      block.sync();
      MBIRK_KEEP_LOOP for (int v = 0; v < views && n + v < end; ++v) {
        std::int32_t const pass = sh.pass(warp, v);
        auto const y = slices + (pass >> 2) * this->shape.view_size();
        auto const taps_of = [&](int q) MBIRK_FLAT -> shared_taps { return sh.taps(warp, v, q); };
        if ((pass & 3) == 2) add_view<2>(block, taps_of, y, sum);
        else add_view<3>(block, taps_of, y, sum);
      }
      block.warp().sync();  // the taps are no longer read
    }
    int const count = first_of(set + 1) - first;
    auto const used = static_cast<int>(this->shape.used(chunk));
    simd::static_for<pixels_of_warp>([&](auto q) MBIRK_FLAT {
      if (q >= count) return;  // warps differ in their number of pixels
      auto const out = this->voxel_columns + (I::load_value(this->offsets + (first + q)) + chunk * width);
      for (int k = 0; k < packs; ++k) B::scatter(out, I::broadcast(row + k), sum[q][k], row + k < used);
    });
  }

 private:
  static constexpr int width = Packs * B::lanes;  // shape.width

  MBIRK_HD int blocks_of_pixels() const noexcept {
    return static_cast<int>(ceil_div(pixels, index_t{pixels_of_block}));
  }
  /// First pixel of a warp. Warps differ by at most one pixel.
  MBIRK_HD int first_of(int set) const noexcept {
    return static_cast<int>(set * pixels / (blocks_of_pixels() * warps));
  }

  /// @param y  the lane's slices of channel 0, from which the first channels of the taps are so many bytes away
  template <int Taps, class Block, class TapsOf>
  static MBIRK_INLINE void add_view(Block const& block, TapsOf const& taps_of,
                                    typename B::template cursor<float const> y,
                                    pack (&sum)[pixels_of_warp][packs]) noexcept {
    simd::static_for<pixels_of_warp>([&](auto q) MBIRK_FLAT {
      shared_taps const taps = taps_of(q);
      auto const channel = bytes_after(y, static_cast<std::uint32_t>(taps.first));
      simd::static_for<Taps>([&](auto t) MBIRK_FLAT {
        pack value[packs];
        B::gather_two(channel + t * width, I::broadcast(0), value[0], value[1]);
        for (int k = 0; k < packs; ++k) sum[q][k] = fma(B::broadcast(taps.weight[t]), value[k], sum[q][k]);
      });
      // Without these barriers the compiler reads several taps first, for which there are not enough registers.
      block.warp().sync();
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
