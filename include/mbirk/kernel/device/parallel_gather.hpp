// Parallel forward projection on a device: a warp owns four channels of one or two views over a chunk of slices and
// accumulates them in registers. All views of a block are neighbours, because these need nearly the same pixels. A
// warp of one view may go on to the next channels, for which L1 already holds many of the pixels.
#pragma once

#include <algorithm>
#include <cstdint>

#include "mbirk/exec/block.hpp"
#include "mbirk/kernel/device/gather_bounds.hpp"
#include "mbirk/kernel/device/gather_epilogue.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/simd/lanes.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Weights of a pixel for four of a warp's sums, read as a 128-bit word.
struct alignas(16) four_weights { float of[4]; };

/// A view of a warp. Lengths are in units of min(1, W) channels, where W is the width of a footprint in channels. The
/// distance of a footprint's centre from the centre of the four channels is origin + row_step i + col_step j.
struct alignas(16) view_of_warp {
  double row_step, col_step, origin;
  float channel;  ///< one channel
  float reach;    ///< the sum of half a footprint and half a channel
  float weight;   ///< of a whole overlap
};

/// How often a warp that projects a list should take four channels: a device needs many blocks, so that few of its
/// multiprocessors wait for the last ones.
inline std::int32_t turns_of_a_warp(chunked_shape const& shape, int warps_of_block) {
  index_t const warps = ceil_div(shape.channels, index_t{gather_channels}) * round_up(shape.views, warps_of_block) *
                        shape.chunks;
  return static_cast<std::int32_t>(std::clamp<index_t>(warps / (4 * tasks_of_a_device), 1, 4));
}

/// Sums of four channels of a warp's views over a chunk; derived kernels find the pixels.
///
/// The sums are in sets of four: all channels of one view, or two channels of two views. The pixels found wait until
/// they fill a batch. With two sets they wait in three lists: pixels that have weights for the first set, for both, or
/// for the second. A batch of one set computes no products for the other, which would be 0.
template <class B, int Views, class Epilogue = gather_store<B>> struct parallel_gather_sums {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using wide = typename I::wide;
  /// batch: pixels whose voxels are loaded before the first of them is added.
  static constexpr int warps = Views == 1 ? 8 : 4, most_packs = 4, batch = Views == 1 ? 4 : 6;
  static constexpr int sets = Views, lists = 2 * sets - 1;
  static constexpr int slots = warp_lanes + batch - 1;  // of a list: fewer than `batch` pixels wait before 32 others
  static_assert(Views == 1 || !Epilogue::leaves_sums, "a warp leaves the sum of one view");
  static constexpr bool takes_turns = Views == 1 && Epilogue::in_turns;
  static constexpr launch_bounds bounds{warps * warp_lanes, Views == 1 ? 3 : 4};
  template <class Block> struct shared {
    // The pixels in the lists: their weights (those of list n for set s are in part n + s), and the offsets of their
    // voxel columns, in bytes. The last offset, which no pixel needs, keeps where the sum of the warp belongs.
    typename Block::template tile<four_weights, warps, sets * sets * slots> weights;
    typename Block::template tile<index_t, warps, lists * slots + 1> columns;
    typename Block::template tile<view_of_warp, warps, Views> views;
  };

  typename B::template cursor<float const> voxel_columns;
  typename B::template cursor<float> sinogram;                 // channel-major; unused if nothing is stored
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<view_taps const> views;          // the first pass of every view
  chunked_shape shape;
  bool in_fours;  ///< slices and all offsets are multiples of 4, and voxel_columns of 16 bytes
  Epilogue epilogue{};
  std::int32_t turns = 1;  ///< how often a warp takes four channels; always 1 unless takes_turns

  /// Blocks are (channels, views, chunk).
  index3 grid() const noexcept {
    return {static_cast<int>(ceil_div(shape.channels, index_t{turns} * gather_channels)),
            static_cast<int>(ceil_div(shape.views, warps * Views)), static_cast<int>(shape.chunks)};
  }

 protected:
  /// First view and first channel of a warp, and its number of views.
  struct place { int view, channel, views; };

  /// Calls find(place, add) and stores the sums. find calls add(i, j, count, offset) for the first `count` of 32 pixels
  /// (i, j), one per lane, with the offset of the lane's voxel column.
  template <class Block, class Find>
  MBIRK_INLINE void run(Block const& block, shared<Block>& sh, Find const& find) const noexcept {
    with_packs<B, most_packs>(shape.packs, [&](auto packs) MBIRK_FLAT {
      using slices = std::conditional_t<four_slices<B, decltype(packs)>, std::true_type, std::false_type>;
      if (slices::value && in_fours) project(packs, slices(), block, sh, find);
      else project(packs, std::false_type(), block, sh, find);
    });
  }

 private:
  /// Four sums of each set; set s is that of channels 2s and 2s + 1 of both views, or of all channels of one.
  template <class Packs> using sums = pack[sets][4][Packs::max_value];
  static MBIRK_HD constexpr int set_of(int channel) { return sets == 1 ? 0 : channel / 2; }
  static MBIRK_HD constexpr int sum_of(int view, int channel) { return sets == 1 ? channel : 2 * view + channel % 2; }
  /// The pixels of list n have weights for sets first_set(n) ... last_set(n).
  static MBIRK_HD constexpr int first_set(int list) { return list / 2; }
  static MBIRK_HD constexpr int last_set(int list) { return (list + 1) / 2; }

  template <class Packs, class Fours, class Block, class Find>
  MBIRK_INLINE void project(Packs packs, Fours fours, Block const& block, shared<Block>& sh,
                            Find const& find) const noexcept {
    int const view = (block.index().y * warps + block.warp_rank()) * Views;
    if (view >= shape.views) return;  // uniform across the warp, and no block barrier follows
    if constexpr (takes_turns) {
      int const width = turns * gather_channels;
      for (int channel = block.index().x * width; channel < (block.index().x + 1) * width; channel += gather_channels) {
        if (channel >= shape.channels) return;
        project_four({view, channel, 1}, packs, fours, block, sh, find);
        block.warp().sync();  // the next turn writes what this one has read
      }
    } else {
      project_four({view, block.index().x * gather_channels, static_cast<int>(min<index_t>(Views, shape.views - view))},
                   packs, fours, block, sh, find);
    }
  }

  template <class Packs, class Fours, class Block, class Find>
  MBIRK_INLINE void project_four(place const& own, Packs packs, Fours fours, Block const& block, shared<Block>& sh,
                                 Find const& find) const noexcept {
    int const warp = block.warp_rank(), lane = block.warp().lane(), chunk = block.index().z;
    auto const used = static_cast<int>(shape.used(chunk));
    auto const columns = columns_of_lane(fours, chunk, used);

    // Registers are short: what is in shared memory is read wherever it is needed.
    if (lane < Views) sh.views(warp, lane) = load_view(own, lane);
    if (Epilogue::leaves_sums && lane == 0)
      sh.columns(warp, lists * slots) = epilogue.index_of_sum(chunk * shape.views + own.view, block.index().x);
    block.warp().sync();
    sums<Packs> sum;
    simd::static_for<sets * 4>([&](auto m) MBIRK_FLAT {
      packs.each([&](auto p) MBIRK_FLAT { sum[m / 4][m % 4][p] = B::constant(0); });
    });
    int waiting[lists] = {};  // pixels in every list
    find(own, [&](wide i, wide j, int count, index_t offset) MBIRK_FLAT {
      block.warp().sync();  // the slots that are written are no longer read
      keep(i, j, count, offset, block, sh, waiting);
      block.warp().sync();
      auto const add_batches = [&](auto list) MBIRK_FLAT {
        MBIRK_KEEP_LOOP while (waiting[list] >= batch) {
          waiting[list] -= batch;
          add<batch>(list, packs, fours, sh, warp, waiting[list], columns, used, sum);
        }
      };
      // In lines of their own, because the predictor tells loops apart by these.
      add_batches(simd::constant<0>());
      if constexpr (lists > 1) {
        add_batches(simd::constant<1>());
        add_batches(simd::constant<2>());
      }
    });
    block.warp().sync();
    simd::static_for<lists>([&](auto list) MBIRK_FLAT {
      MBIRK_KEEP_LOOP for (int k = 0; k < waiting[list]; ++k)
        add<1>(list, packs, fours, sh, warp, k, columns, used, sum);
    });
    index_t index_of_sum = 0;
    if constexpr (Epilogue::leaves_sums) index_of_sum = sh.columns(warp, lists * slots);
    store(packs, fours, own, chunk, used, index_of_sum, sum);
  }

  /// Where the voxel columns of a chunk begin, for a lane that has four neighbouring slices: where its slices are.
  template <class Fours>
  MBIRK_INLINE auto columns_of_lane(Fours, int chunk, [[maybe_unused]] int used) const noexcept {
    auto const at_chunk = voxel_columns + chunk * shape.width;
    if constexpr (Fours::value) return at_chunk + B::own_four(used);
    else return at_chunk;
  }

  /// View `number` of a warp. One that does not exist has no weights.
  MBIRK_INLINE view_of_warp load_view(place const& own, int number) const noexcept {
    auto const view = I::load_value(views + (own.view + min(number, own.views - 1)));
    double const middle = static_cast<double>(own.channel) + 0.5 * (gather_channels - 1);
    double const unit = min(1.0, view.width);
    // All lengths are scaled by the rounded value, so that its error does not move the ends of an overlap.
    float const channel = 1 / static_cast<float>(unit);
    double const scale = static_cast<double>(channel);
    return {view.row_step * scale,
            view.col_step * scale,
            (view.edge + 0.5 * (view.width - 1) - middle) * scale,
            channel,
            static_cast<float>(0.5 * (view.width + 1) * scale),
            number < own.views ? view.chord * static_cast<float>(unit) : 0.0f};
  }

  /// Appends those of 32 pixels that reach the channels to the lists.
  template <class Block>
  MBIRK_INLINE void keep(wide i, wide j, int count, index_t offset, Block const& block,
                         shared<Block>& sh, int (&waiting)[lists]) const noexcept {
    typename I::pack any[sets];
    four_weights weights[sets];
    simd::static_for<sets>([&](auto s) MBIRK_FLAT { any[s] = I::constant(0); });
    simd::static_for<Views>([&](auto v) MBIRK_FLAT {
      view_of_warp const view = sh.views(block.warp_rank(), v);
      auto const distance = I::to_pack(
          fma(i, I::broadcast(view.row_step), fma(j, I::broadcast(view.col_step), I::broadcast(view.origin))));
      auto const channel = I::broadcast(view.channel), reach = I::broadcast(view.reach),
                 whole = I::broadcast(view.weight);
      simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
        auto const from_channel = fma(I::constant(0.5 * (gather_channels - 1) - t), channel, distance);
        auto const weight = whole * definition::overlap_share(from_channel, reach);
        weights[set_of(t)].of[sum_of(v, t)] = I::element(weight);
        any[set_of(t)] = any[set_of(t)] + weight;
      });
    });
    unsigned const listed = count < warp_lanes ? (1u << count) - 1 : ~0u, own_bit = 1u << block.warp().lane();
    unsigned reached[sets];
    simd::static_for<sets>([&](auto s) MBIRK_FLAT { reached[s] = I::where(I::constant(0) < any[s]) & listed; });
    int slot = -1;
    simd::static_for<lists>([&](auto list) MBIRK_FLAT {
      unsigned found = reached[first_set(list)];
      if constexpr (lists > 1) found &= list == 1 ? reached[1] : ~reached[1 - first_set(list)];
      if (found & own_bit)
        slot = list * slots + waiting[list] + mbirk::detail::bit_count(found & (own_bit - 1));
      waiting[list] += mbirk::detail::bit_count(found);
    });
    if (slot < 0) return;
    int const warp = block.warp_rank();
    sh.columns(warp, slot) = offset * static_cast<index_t>(sizeof(float));
    simd::static_for<sets>([&](auto s) MBIRK_FLAT {
      if (reached[s] & own_bit) sh.weights(warp, slot + s * slots) = weights[s];
    });
  }

  /// Adds N pixels of a list, from the k-th slot on.
  template <int N, class List, class Packs, class Fours, class Shared, class Columns>
  MBIRK_INLINE void add(List list, Packs packs, Fours, Shared& sh, int warp, int k, Columns columns, int used,
                        sums<Packs>& sum) const noexcept {
    pack value[N][Packs::max_value];
    simd::static_for<N>([&](auto n) MBIRK_FLAT {
      index_t const offset = sh.columns(warp, list * slots + k + n);
      auto const column = bytes_after(columns, offset);
      if constexpr (Fours::value) {
        B::load_own_four(column, value[n]);
      } else {
        packs.each([&](auto p) MBIRK_FLAT {
          int const left = used - p * B::lanes;
          value[n][p] = B::load_partial(column + p * B::lanes, left < B::lanes ? max(left, 0) : B::lanes);
        });
      }
    });
    simd::static_for<N>([&](auto n) MBIRK_FLAT {
      simd::static_for<last_set(list) - first_set(list) + 1>([&](auto m) MBIRK_FLAT {
        constexpr int s = first_set(List::value) + m;
        four_weights const weights = sh.weights(warp, (list + s) * slots + k + n);
        simd::static_for<4>([&](auto e) MBIRK_FLAT {
          pack const weight = B::broadcast(weights.of[e]);
          packs.each([&](auto p) MBIRK_FLAT { sum[s][e][p] = fma(weight, value[n][p], sum[s][e][p]); });
        });
      });
    });
  }

  /// Passes the channels that exist to the epilogue and stores them.
  template <class Packs, class Fours>
  MBIRK_INLINE void store(Packs packs, Fours, place const& own, int chunk, int used, index_t index_of_sum,
                          sums<Packs>& sum) const noexcept {
    simd::static_for<Views>([&](auto v) MBIRK_FLAT {
      if (v >= own.views) return;
      auto total = B::no_sum();
      simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
        auto& of_channel = sum[set_of(t)][sum_of(v, t)];
        if (own.channel + t >= shape.channels) return;
        index_t const at = shape.offset(chunk, own.view + v) + (own.channel + t + guard_channels) * shape.width;
        auto row = B::constant(0);
        if constexpr (Fours::value) {
          bool const mine = 4 * I::element(I::iota()) < used;
          packs.each([&](auto p) MBIRK_FLAT { of_channel[p] = mine ? of_channel[p] : B::constant(0); });
          epilogue.of_four(at, of_channel, row);
          if constexpr (Epilogue::stores) B::store_four(sinogram + at, of_channel);
        } else {
          packs.each([&](auto p) MBIRK_FLAT {
            index_t const pack_at = at + p * B::lanes;
            pack const result = epilogue.of_pack(pack_at, of_channel[p], row);
            if constexpr (Epilogue::stores) B::store(sinogram + pack_at, result);
          });
        }
        total = total + B::widen(row);
      });
      epilogue.end(index_of_sum, total);
    });
  }
};

/// Visits the groups whose bounding boxes reach the channels.
template <class B> struct parallel_gather : parallel_gather_sums<B, 2> {
  using base = parallel_gather_sums<B, 2>;
  using I = typename B::index_backend;
  using wide = typename I::wide;
  template <class Block> using shared = typename base::template shared<Block>;

  group_boxes<I> boxes;
  device_span<pixel_group> groups;

  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    this->run(block, sh, [&](typename base::place const& own, auto const& add) MBIRK_FLAT {
      auto const reach_view = [&](int number, int first, int count) MBIRK_FLAT {
        view_of_warp const view = sh.views(block.warp_rank(), number);
        double const reach = 0.5 * (gather_channels - 1) * static_cast<double>(view.channel) +
                             static_cast<double>(view.reach);
        return boxes.near(first, count, view.origin, view, reach);
      };
      auto const reach = [&](int first, int count) MBIRK_FLAT {
        unsigned const reached = reach_view(0, first, count);
        return own.views > 1 ? reached | reach_view(1, first, count) : reached;
      };
      visit_groups<I>(groups, static_cast<int>(groups.size()), reach, [&](index_t first, int count) MBIRK_FLAT {
        add(I::to_wide(I::load_ints(this->rows + first)), I::to_wide(I::load_ints(this->cols + first)), count,
            offset_of_lane<I>(this->offsets, first, count));
      });
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
