// Cone forward projection of listed pixels on a device: like cone_gather, but each warp visits only the pixels that can
// reach its channels, in the order of cone_sort_by_channel.
#pragma once

#include "mbirk/kernel/device/cone_gather.hpp"
#include "mbirk/kernel/device/sort_by_channel.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

template <class B> struct cone_list_gather : cone_gather_sums<B> {
  using base = cone_gather_sums<B>;
  using I = typename B::index_backend;

  typename I::template cursor<std::int32_t const> sorted;  // (views, pixels)
  typename I::template cursor<std::int32_t const> starts;  // (views, bins.stride())
  index_t pixels;
  channel_bins bins;

  MBIRK_HD void operator()(index_t task) const noexcept {
    this->run(task, [&](auto packs, typename base::place const& own, auto& sum) MBIRK_FLAT {
      auto const start = starts + own.view * bins.stride();
      index_t const from = I::load_value(start + bins.begin(own.first)),
                    to = this->geometry.slices > 0 ? I::load_value(start + bins.end(own.first, gather_channels)) : 0;
      auto const order = sorted + own.view * pixels;
      for (index_t k = from; k < to; k += B::lanes) {
        auto const ids = I::load_ints_within(order + k, static_cast<int>(min<index_t>(B::lanes, to - k)));
        this->add_pixels(packs, own, I::gather_ints(this->rows, ids), I::gather_ints(this->cols, ids), to - k,
                         [&](int lane) MBIRK_FLAT { return index_t{I::at(ids, lane)}; }, sum);
      }
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
