// Parallel forward projection of listed pixels on a device: like parallel_gather, but each warp visits only the pixels
// that can reach its channels, in the order of sort_by_channel.
#pragma once

#include "mbirk/kernel/device/parallel_gather.hpp"
#include "mbirk/kernel/device/sort_by_channel.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

template <class B> struct parallel_list_gather : parallel_gather_sums<B, 1> {
  using base = parallel_gather_sums<B, 1>;
  using I = typename B::index_backend;
  template <class Block> using shared = typename base::template shared<Block>;

  typename I::template cursor<std::int32_t const> sorted;  // (views, pixels)
  typename I::template cursor<std::int32_t const> starts;  // (views, bins.stride())
  index_t listed;
  channel_bins bins;

  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    this->run(block, sh, [&](typename base::place const& own, auto const& add) MBIRK_FLAT {
      auto const start = starts + own.view * bins.stride();
      index_t const from = I::load_value(start + bins.begin(own.channel)),
                    to = I::load_value(start + bins.end(own.channel, gather_channels));
      auto const order = sorted + own.view * listed;
      for (index_t k = from; k < to; k += I::lanes) {
        auto const ids = I::load_ints_within(order + k, static_cast<int>(min<index_t>(I::lanes, to - k)));
        add(I::to_wide(I::gather_ints(this->rows, ids)), I::to_wide(I::gather_ints(this->cols, ids)), to - k,
            I::gather_index(this->offsets, ids));
      }
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
