// Order of listed pixels by the channels that they reach, for every view: a projection of a list then visits the pixels
// of a range of channels without looking at the others.
#pragma once

#include <cstdint>

#include "mbirk/core/bits.hpp"
#include "mbirk/core/index.hpp"
#include "mbirk/kernel/shared/cone_taps.hpp"
#include "mbirk/kernel/shared/view_taps.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Bins of a view: bin b has the pixels whose footprints begin in channel b - (taps - 1), so that none begins before
/// bin 0 and still reaches the detector. taps: channels that the widest footprint can reach.
struct channel_bins {
  index_t channels = 0, taps = 1;

  MBIRK_HD index_t count() const noexcept { return channels + taps - 1; }
  /// Entries of a view in the table of starts: bin b has the pixels start[b] .. start[b + 1] - 1. A multiple of 32.
  MBIRK_HD index_t stride() const noexcept { return round_up(count() + 2, index_t{32}); }
  /// Bins whose pixels can reach the channels first .. first + width - 1: these, up to end(first, width) - 1.
  MBIRK_HD index_t begin(index_t first) const noexcept { return first; }
  MBIRK_HD index_t end(index_t first, index_t width) const noexcept { return min(count(), first + width + taps - 1); }
};

/// Pixels of a list in the order of their channels, as channel_order leaves them.
template <class I> struct sorted_lists {
  typename I::template cursor<std::int32_t const> sorted;  // (views, pixels)
  typename I::template cursor<std::int32_t const> starts;  // (views, bins.stride())
  index_t pixels;
  channel_bins bins;

  /// Visits the pixels that can reach the channels first .. first + width - 1 of a view, in rounds of 32: calls
  /// add(ids, count) with the places of the pixels in the plan, one per lane, and the number of pixels from there on.
  template <class Add>
  MBIRK_INLINE void visit(index_t view, index_t first, index_t width, Add const& add) const noexcept {
    auto const start = starts + view * bins.stride();
    std::int32_t const from = I::load_value(start + bins.begin(first)),
                       to = I::load_value(start + bins.end(first, width));
    if (from >= to) return;
    auto const order = sorted + view * pixels;
    auto const ids_from = [&](std::int32_t k) MBIRK_FLAT {
      return I::load_ints_within(order + k, min(static_cast<std::int32_t>(I::lanes), to - k));
    };
    auto next = ids_from(from);
    for (std::int32_t k = from; k < to; k += I::lanes) {
      auto const ids = next;
      // Early, so that this load and the work on the pixels before overlap. The last one is in vain.
      next = ids_from(min(k + static_cast<std::int32_t>(I::lanes), to - 1));
      add(ids, to - k);
    }
  }
};

/// The tables that a sort of listed pixels by channel reads and fills (block_sort.hpp). Derived orders know where
/// footprints begin.
template <class B> struct channel_order {
  using I = typename B::index_backend;
  using ints = typename I::ints;
  using wide = typename I::wide;

  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<std::int32_t> sorted;            // (views, pixels)
  typename I::template cursor<std::int32_t> starts;            // (views, bins.stride())
  index_t pixels;
  channel_bins bins;

  /// Calls f for 32 pixels at a time of [from, to), one per lane: first .. first + 31, their bins (0 for those in none,
  /// which are not valid), how many lanes before have the same bin, how many have it in all, whether the lane is the
  /// last of them.
  /// @param edge  edge(rows, columns): where the footprints of 32 pixels begin on the detector, in channels
  template <class Edge, class F>
  MBIRK_INLINE void each_round(Edge const& edge, index_t from, index_t to, F const& f) const noexcept {
    auto const lane = I::element(I::iota());
    auto const lowest = I::broadcast(-static_cast<double>(bins.taps)),
               highest = I::broadcast(static_cast<double>(bins.channels));
    MBIRK_KEEP_LOOP for (index_t first = from; first < to; first += I::lanes) {
      int const here = static_cast<int>(min<index_t>(I::lanes, to - first));
      wide const begin = edge(I::load_ints_within(rows + first, here), I::load_ints_within(cols + first, here));
      auto const found = I::to_ints(max(min(floor(begin), highest), lowest)) +
                         I::broadcast(static_cast<std::int32_t>(bins.taps - 1));
      std::int32_t const bin = I::element(found);
      bool const valid = lane < here && bin >= 0 && bin < bins.count();
      unsigned const same = I::lanes_with(valid ? bin : -1), before = (1u << lane) - 1;
      int const rank = mbirk::detail::bit_count(same & before), equal = mbirk::detail::bit_count(same);
      f(first, I::broadcast(valid ? bin : 0), rank, equal, valid, rank + 1 == equal);
      order_lanes<I>();
    }
  }
};

/// Order in parallel beam.
template <class B> struct parallel_channel_order : channel_order<B> {
  using I = typename B::index_backend;

  typename I::template cursor<view_taps const> views;  // the first pass of every view

  /// Calls sort(edge) with the edge of footprints in a view.
  template <class Sort> MBIRK_INLINE void with_edges(index_t view, Sort const& sort) const noexcept {
    auto const taps = I::load_value(views + view);
    sort([&](auto rows, auto cols) MBIRK_FLAT {
      return fma(I::to_wide(rows), I::broadcast(taps.row_step),
                 fma(I::to_wide(cols), I::broadcast(taps.col_step), I::broadcast(taps.edge)));
    });
  }
};

/// Order in cone beam.
template <class B> struct cone_channel_order : channel_order<B> {
  using I = typename B::index_backend;

  cone_geometry geometry;
  typename I::template cursor<view_position const> positions;

  /// Calls sort(edge) with the edge of footprints in a view.
  template <class Sort> MBIRK_INLINE void with_edges(index_t view, Sort const& sort) const noexcept {
    cone_footprints<I> const footprints(geometry, I::load_value(positions + view), 0);
    sort([&](auto rows, auto cols) MBIRK_FLAT {
      auto const channel = footprints.of(rows, cols).channel;
      return definition::left_edge(channel.centre, channel.width);
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
