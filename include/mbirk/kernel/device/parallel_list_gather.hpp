// Parallel forward projection of listed pixels on a device: like parallel_gather, but each warp visits only the pixels
// that can reach its channels, in the order of parallel_channel_order.
#pragma once

#include "mbirk/kernel/device/channel_order.hpp"
#include "mbirk/kernel/device/parallel_gather.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

template <class B, class Epilogue = gather_store<B>>
struct parallel_list_gather : parallel_gather_sums<B, 1, Epilogue> {
  using base = parallel_gather_sums<B, 1, Epilogue>;
  using I = typename B::index_backend;
  template <class Block> using shared = typename base::template shared<Block>;

  sorted_lists<I> lists;

  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    this->run(block, sh, [&](typename base::place const& own, auto const& add) MBIRK_FLAT {
      lists.visit(own.view, own.channel, gather_channels, [&](typename I::ints ids, int count) MBIRK_FLAT {
        add(I::to_wide(I::gather_ints(this->rows, ids)), I::to_wide(I::gather_ints(this->cols, ids)), count,
            I::gather_index(this->offsets, ids));
      });
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
