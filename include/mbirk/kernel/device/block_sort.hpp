// Sorts listed pixels by the channels that they reach, with a block for every view and counters in shared memory.
#pragma once

#include <cstdint>

#include "mbirk/exec/block.hpp"
#include "mbirk/kernel/device/channel_order.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Counters of a block that fit into shared memory.
inline constexpr int most_sort_counters = 11264;
/// Most channels of a detector whose pixels are sorted, by one warp: a view has at most two bins per channel.
inline constexpr index_t most_sorted_channels = most_sort_counters / 2;

/// Counting sort of the pixels of a view. The warps of a block have consecutive parts of the list and a counter for
/// every bin each, so that the sort is stable: the order, and with it every sum, is the same on every run.
/// Order: parallel_channel_order or cone_channel_order. Warps: more are faster, fewer leave room for more bins.
template <class B, class Order, int Warps> struct block_sort {
  using I = typename B::index_backend;
  using ints = typename I::ints;
  static constexpr int warps = Warps, most_bins = most_sort_counters / Warps;
  static constexpr launch_bounds bounds{warps * warp_lanes, 2};
  template <class Block> struct shared {
    // Pixels of a bin that a warp has; then where its next one goes.
    typename Block::template tile<std::int32_t, warps, most_bins> next;
    typename Block::template tile<std::int32_t, warps> totals;
  };

  Order order;
  index_t views;

  static bool fits(channel_bins const& bins) noexcept { return bins.count() <= most_bins; }
  index3 grid() const noexcept { return {static_cast<int>(views), 1, 1}; }

  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    index_t const view = block.index().x;
    int const warp = block.warp_rank(), bins = static_cast<int>(order.bins.count());
    index_t const each = round_up(ceil_div(order.pixels, index_t{warps}), index_t{warp_lanes}), from = warp * each,
                  to = min(order.pixels, from + each);
    MBIRK_KEEP_LOOP for (int b = block.rank(); b < bins; b += bounds.threads)
      for (int w = 0; w < warps; ++w) sh.next(w, b) = 0;
    block.sync();
    auto const count = [&](index_t, ints bin, std::int32_t, std::int32_t equal, bool valid, bool last) MBIRK_FLAT {
      if (valid && last) sh.next(warp, I::element(bin)) += equal;
    };
    auto const sorted = order.sorted + view * order.pixels;
    auto const place = [&](index_t first, ints bin, std::int32_t rank, std::int32_t equal, bool valid,
                           bool last) MBIRK_FLAT {
      std::int32_t const next = sh.next(warp, I::element(bin));
      order_lanes<I>();
      I::scatter_ints(sorted, I::broadcast(next + rank), I::iota() + I::broadcast(static_cast<std::int32_t>(first)),
                      valid);
      if (valid && last) sh.next(warp, I::element(bin)) = next + equal;
    };
    order.with_edges(view, [&](auto const& edge) MBIRK_FLAT {
      order.each_round(edge, from, to, count);
      block.sync();
      add_up(block, sh, order.starts + view * order.bins.stride(), bins);
      block.sync();
      order.each_round(edge, from, to, place);
    });
  }

 private:
  /// Turns counts into places, bin by bin and within a bin warp by warp, and stores where the bins start. A thread has
  /// a piece of the bins.
  template <class Block>
  MBIRK_INLINE void add_up(Block const& block, shared<Block>& sh, typename I::template cursor<std::int32_t> start,
                           int bins) const noexcept {
    int const piece = ceil_div(bins, bounds.threads), first = min(bins, block.rank() * piece),
              last = min(bins, first + piece), lane = block.warp().lane();
    std::int32_t sum = 0;
    MBIRK_KEEP_LOOP for (int b = first; b < last; ++b)
      for (int w = 0; w < warps; ++w) sum += static_cast<std::int32_t>(sh.next(w, b));
    ints const sums = I::broadcast(sum);  // on a warp every lane keeps its own
    std::int32_t before = 0, total = 0;
    for (int l = 0; l < I::lanes; ++l) {
      std::int32_t const other = I::at(sums, l);
      before += l < lane ? other : 0;
      total += other;
    }
    if (lane == 0) sh.totals(block.warp_rank()) = total;
    block.sync();
    for (int w = 0; w < block.warp_rank(); ++w) before += static_cast<std::int32_t>(sh.totals(w));
    MBIRK_KEEP_LOOP for (int k = 0; k < piece; ++k) {
      int const b = first + k;
      bool const mine = b < last;
      I::scatter_ints(start, I::broadcast(b), I::broadcast(before), mine);
      if (!mine) continue;
      for (int w = 0; w < warps; ++w) {
        std::int32_t const here = sh.next(w, b);
        sh.next(w, b) = before;
        before += here;
      }
    }
    I::scatter_ints(start, I::broadcast(bins), I::broadcast(before), block.rank() == bounds.threads - 1);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
