// Counts of histogram.hpp on a device: the threads of a block count in one table in shared memory, which the block adds
// to a table in global memory when it has counted.
#pragma once

#include <cstdint>

#include "mbirk/exec/block.hpp"
#include "mbirk/kernel/shared/histogram.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Counted: count_bins or count_digits, with at most `most_entries` entries. Each warp runs one task of it.
/// Counts are exact in any order.
template <class B, class Counted> struct block_counts {
  static constexpr int warps = 8;
  static constexpr std::int32_t most_entries = count_digits<B>::table_size;
  static constexpr launch_bounds bounds{warps * warp_lanes, 6};
  template <class Block> struct shared {
    typename Block::template tile<std::int32_t, most_entries> table;
  };

  Counted counted;

  index3 grid() const noexcept { return {static_cast<int>(ceil_div(counted.w.tasks(), index_t{warps})), 1, 1}; }

  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    std::int32_t const entries = counted.entries();
    MBIRK_KEEP_LOOP for (std::int32_t k = block.rank(); k < entries; k += bounds.threads) sh.table(k) = 0;
    block.sync();
    index_t const task = index_t{block.index().x} * warps + block.warp_rank();
    if (task < counted.w.tasks())
      counted.each_count(task, [&](std::int32_t place, bool one) MBIRK_FLAT {
        if (one) block.count(sh.table(place));
      });
    block.sync();
    std::int32_t* const total = counted.counts + block.index().x % counted.tables * entries;
    MBIRK_KEEP_LOOP for (std::int32_t k = block.rank(); k < entries; k += bounds.threads) {
      std::int32_t const times = sh.table(k);
      if (times > 0) B::count_many(total + k, times);
    }
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
