// Parallel forward projection of listed pixels on a device: like parallel_gather, but each warp visits only the pixels
// that can reach its channels, in the order of sort_by_channel.
#pragma once

#include "mbirk/kernel/device/parallel_gather.hpp"
#include "mbirk/kernel/device/sort_by_channel.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

template <class B> struct parallel_list_gather {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  static constexpr int most_packs = parallel_gather<B>::most_packs;

  typename B::template cursor<float const> voxel_columns;
  typename B::template cursor<float> sinogram;                 // channel-major
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<view_taps const> views;          // the first pass of every view
  typename I::template cursor<std::int32_t const> sorted;      // (views, pixels)
  typename I::template cursor<std::int32_t const> starts;      // (views, bins.stride())
  index_t pixels;
  channel_bins bins;
  chunked_shape shape;

  index_t tasks() const noexcept { return gather_task::count(shape); }

  /// Tasks are (view, four channels, chunk).
  MBIRK_HD void operator()(index_t task) const noexcept {
    with_packs<B, most_packs>(shape.packs, [&](auto packs) MBIRK_FLAT { project(packs, task); });
  }

 private:
  template <class Packs> MBIRK_HD void project(Packs packs, index_t task) const noexcept {
    gather_task const own(shape, task);
    auto const view = I::load_value(views + own.view);
    auto const start = starts + own.view * bins.stride();
    index_t const from = I::load_value(start + bins.begin(own.first)),
                  to = I::load_value(start + bins.end(own.first, gather_channels));
    auto const order = sorted + own.view * pixels;
    auto const at_chunk = voxel_columns + own.chunk * shape.width;

    gather_sums<B, Packs> sums(packs);
    for (index_t k = from; k < to; k += B::lanes) {
      auto const ids = I::load_ints_within(order + k, static_cast<int>(min<index_t>(B::lanes, to - k)));
      sums.add(packs, view, own.origin(view), I::to_wide(I::gather_ints(rows, ids)),
               I::to_wide(I::gather_ints(cols, ids)), to - k, shape.used(own.chunk), [&](int lane) MBIRK_FLAT {
                 return at_chunk + I::load_value(offsets + I::at(ids, lane));
               });
    }
    sums.store(packs, own, shape, sinogram + shape.offset(own.chunk, view.view));
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
