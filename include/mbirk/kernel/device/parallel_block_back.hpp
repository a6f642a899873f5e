// Parallel back projection on a device: a block owns a group of pixels over a chunk of slices, a warp 8 of the pixels,
// with accumulators in registers over all views. The taps of eight views at a time are in shared memory; each warp
// computes those of one view, so there is one barrier per eight views.
#pragma once

#include "mbirk/exec/block.hpp"
#include "mbirk/exec/tuning.hpp"
#include "mbirk/kernel/device/parallel_back_arrays.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

template <class B> struct parallel_block_back : parallel_back_arrays<B> {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  static constexpr int warps = 8, pixels_of_warp = group_pixels / warps, most_packs = 4;
  static constexpr launch_bounds bounds{warps * warp_lanes, 2};
  static constexpr int min_blocks(int capability) { return exec::tuning_for(capability).parallel_back_blocks; }
  template <class Block> struct shared {
    typename Block::template tile<shared_taps, 2, warps, group_pixels> taps;
  };

  device_span<pixel_group> groups;

  index3 grid() const noexcept { return {static_cast<int>(groups.size()), static_cast<int>(this->shape.chunks), 1}; }

  /// Blocks are (group, chunk).
  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    with_packs<B, most_packs>(this->shape.packs, [&](auto packs) MBIRK_FLAT { project(packs, block, sh); });
  }

 private:
  template <class Packs, class Block>
  MBIRK_HD void project(Packs packs, Block const& block, shared<Block>& sh) const noexcept {
    pixel_group const group = groups[block.index().x];
    index_t const chunk = block.index().y;
    int const warp = block.warp_rank(), lane = block.warp().lane(), own = warp * pixels_of_warp;

    pack sum[pixels_of_warp][Packs::max_value];
    simd::static_for<pixels_of_warp>([&](auto q) MBIRK_FLAT {
      packs.each([&](auto i) MBIRK_FLAT { sum[q][i] = B::constant(0); });
    });
    int stage = 0;
    for (index_t base = 0; base < this->all_passes; base += warps, stage ^= 1) {
      if (base + warp < this->all_passes) {
        auto const pass = I::load_value(this->passes + (base + warp));
        simd::static_for<group_pixels / warp_lanes>([&](auto half) MBIRK_FLAT {
          index_t const at = group.first + half * warp_lanes;
          sh.taps(stage, warp, half * warp_lanes + lane) = share_taps<I>(
              find_taps<I>(pass, this->squared, this->shape.channels, I::load_ints(this->rows + at),
                           I::load_ints(this->cols + at)));
        });
      }
      // The taps are complete after this barrier. The stage that is written next is no longer read, because all warps
      // have finished reading it before this barrier.
      block.sync();
      int const views = static_cast<int>(min<index_t>(warps, this->all_passes - base));
      for (int v = 0; v < views; ++v) {
        auto const pass = I::load_value(this->passes + (base + v));
        auto const y = this->sinogram + this->shape.offset(chunk, pass.view);
        if (pass.taps == 2) add_view<2>(packs, sh, stage, v, own, y, sum);
        else add_view<3>(packs, sh, stage, v, own, y, sum);
      }
    }
    index_t const used = this->shape.used(chunk);
    simd::static_for<pixels_of_warp>([&](auto q) MBIRK_FLAT {
      if (own + q >= group.count) return;
      auto const out = this->voxel_columns +
          (I::load_value(this->offsets + (group.first + own + q)) + chunk * this->shape.width);
      packs.each([&](auto i) MBIRK_FLAT {
        index_t const left = used - i * B::lanes;
        if (left > 0) store_lanes<B>(out + i * B::lanes, sum[q][i], min<index_t>(left, B::lanes));
      });
    });
  }

  template <int Taps, class Packs, class Shared>
  MBIRK_INLINE void add_view(Packs packs, Shared& sh, int stage, int v, int own,
                             typename B::template cursor<float const> y,
                             pack (&sum)[pixels_of_warp][Packs::max_value]) const noexcept {
    simd::static_for<pixels_of_warp>([&](auto q) MBIRK_FLAT {
      shared_taps const taps = sh.taps(stage, v, own + q);
      auto const row = y + index_t{taps.first} * (packs * B::lanes);
      simd::static_for<Taps>([&](auto t) MBIRK_FLAT {
        pack const weight = B::broadcast(taps.weight[t]);
        packs.each([&](auto i) MBIRK_FLAT {
          sum[q][i] = fma(weight, B::load(row + (t * packs + i) * B::lanes), sum[q][i]);
        });
      });
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
