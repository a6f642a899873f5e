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

/// Weights of a pixel for the four channels of a warp in its views, read as 128-bit words.
template <int Views> struct alignas(16) channel_weights { float of[Views][gather_channels]; };

/// How often a warp that projects a list should take four channels: a device needs many blocks, so that few of its
/// multiprocessors wait for the last ones.
inline std::int32_t turns_of_a_warp(chunked_shape const& shape, int warps_of_block) {
  index_t const warps = ceil_div(shape.channels, index_t{gather_channels}) * round_up(shape.views, warps_of_block) *
                        shape.chunks;
  return static_cast<std::int32_t>(std::clamp<index_t>(warps / (4 * tasks_of_a_device), 1, 4));
}

/// Sums of four channels of a warp's views over a chunk; derived kernels find the pixels.
template <class B, int Views, class Epilogue = gather_store<B>> struct parallel_gather_sums {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using wide = typename I::wide;
  /// batch: pixels whose voxels are loaded before the first of them is added.
  static constexpr int warps = Views == 1 ? 8 : 4, most_packs = 4, batch = Views == 1 ? 4 : 6;
  static constexpr int slot_of_sum = warp_lanes + batch - 1;  // fewer than `batch` pixels wait before 32 others
  static_assert(Views == 1 || !Epilogue::leaves_sums, "a warp leaves the sum of one view");
  static constexpr bool takes_turns = Views == 1 && Epilogue::in_turns;
  static constexpr launch_bounds bounds{warps * warp_lanes, Views == 1 ? 3 : 4};
  template <class Block> struct shared {
    // The pixels found of 32, behind those of earlier rounds that do not fill a batch: weights, and offsets of their
    // voxel columns, in bytes. The last of these, which no pixel needs, keeps where the sum of the warp belongs.
    typename Block::template tile<channel_weights<Views>, warps, warp_lanes + batch> weights;
    typename Block::template tile<index_t, warps, warp_lanes + batch> columns;
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
  /// First view and first channel of a warp. Views are loaded wherever they are needed, because registers are short.
  struct place {
    int view, channel;
    int views;  ///< how many there are

    /// Distance of a footprint's centre from the centre of the four channels, in channels:
    /// origin + row_step i + col_step j.
    MBIRK_HD double origin(view_taps const& taps) const noexcept {
      return taps.edge + 0.5 * (taps.width - 1) - (static_cast<double>(channel) + 0.5 * (gather_channels - 1));
    }
  };

  /// Calls find(place, add) and stores the sums. find calls add(i, j, count, offset) for the first `count` of 32 pixels
  /// (i, j), one per lane, with the offset of the lane's voxel column.
  template <class Block, class Find>
  MBIRK_INLINE void run(Block const& block, shared<Block>& sh, Find const& find) const noexcept {
    with_packs<B, most_packs>(shape.packs, [&](auto packs) MBIRK_FLAT {
      using slices = std::conditional_t<four_slices<decltype(packs)>, std::true_type, std::false_type>;
      if (slices::value && in_fours) project(packs, slices(), block, sh, find);
      else project(packs, std::false_type(), block, sh, find);
    });
  }

 private:
  /// Whether a lane can have four neighbouring slices, so that one access loads all packs of a pixel.
  template <class Packs>
  static constexpr bool four_slices = Packs::max_value == 4 && requires(pack (&x)[4]) {
    B::load_four(static_cast<float const*>(nullptr), x);
  };
  static constexpr int all_sums = Views * gather_channels;  // view by view
  template <class Packs> using sums = pack[all_sums][Packs::max_value];

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

    // Needed last; until then registers are short.
    if (Epilogue::leaves_sums && lane == 0)
      sh.columns(warp, slot_of_sum) = epilogue.index_of_sum(chunk * shape.views + own.view, block.index().x);
    sums<Packs> sum;
    simd::static_for<all_sums>([&](auto m) MBIRK_FLAT {
      packs.each([&](auto p) MBIRK_FLAT { sum[m][p] = B::constant(0); });
    });
    int waiting = 0;
    find(own, [&](wide i, wide j, int count, index_t offset) MBIRK_FLAT {
      waiting += keep(own, i, j, count, offset, block, sh, waiting);
      block.warp().sync();
      int k = 0;
      MBIRK_KEEP_LOOP for (; k + batch <= waiting; k += batch)
        add<batch>(packs, fours, sh, warp, k, columns, used, sum);
      waiting -= k;
      channel_weights<Views> weights;
      index_t column = 0;
      if (lane < waiting) {
        weights = sh.weights(warp, k + lane);
        column = sh.columns(warp, k + lane);
      }
      block.warp().sync();
      if (lane < waiting) {
        sh.weights(warp, lane) = weights;
        sh.columns(warp, lane) = column;
      }
    });
    block.warp().sync();
    MBIRK_KEEP_LOOP for (int k = 0; k < waiting; ++k) add<1>(packs, fours, sh, warp, k, columns, used, sum);
    index_t index_of_sum = 0;
    if constexpr (Epilogue::leaves_sums) index_of_sum = sh.columns(warp, slot_of_sum);
    store(packs, fours, own, chunk, used, index_of_sum, sum);
  }

  /// Where the voxel columns of a chunk begin, for a lane that has four neighbouring slices: where its slices are.
  template <class Fours>
  MBIRK_INLINE auto columns_of_lane(Fours, int chunk, [[maybe_unused]] int used) const noexcept {
    auto const at_chunk = voxel_columns + chunk * shape.width;
    if constexpr (Fours::value) return at_chunk + B::own_four(used);
    else return at_chunk;
  }

  /// Appends those of 32 pixels that reach the channels to the pixels of the warp. Returns their number.
  template <class Block>
  MBIRK_INLINE int keep(place const& own, wide i, wide j, int count, index_t offset, Block const& block,
                        shared<Block>& sh, int waiting) const noexcept {
    auto any = I::constant(0);
    channel_weights<Views> weights;
    simd::static_for<Views>([&](auto v) MBIRK_FLAT {
      auto const view = I::load_value(views + (own.view + min<int>(v, own.views - 1)));
      auto const distance = I::to_pack(
          fma(i, I::broadcast(view.row_step), fma(j, I::broadcast(view.col_step), I::broadcast(own.origin(view)))));
      auto const width = I::broadcast(static_cast<float>(view.width)),
          chord = I::broadcast(v < own.views ? view.chord : 0.0f) * I::first_lanes(count);
      simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
        auto const weight =
            chord * definition::overlap(distance + I::constant(0.5 * (gather_channels - 1) - t), width);
        weights.of[v][t] = I::element(weight);
        any = any + weight;
      });
    });
    unsigned const found = I::where(I::constant(0) < any), before = (1u << block.warp().lane()) - 1;
    if (found & (before + 1)) {
      int const warp = block.warp_rank(), at = waiting + mbirk::detail::bit_count(found & before);
      sh.weights(warp, at) = weights;
      sh.columns(warp, at) = offset * static_cast<index_t>(sizeof(float));
    }
    return mbirk::detail::bit_count(found);
  }

  /// Adds pixels k .. k + N - 1 of a warp.
  template <int N, class Packs, class Fours, class Shared, class Columns>
  MBIRK_INLINE void add(Packs packs, Fours, Shared& sh, int warp, int k, Columns columns, int used,
                        sums<Packs>& sum) const noexcept {
    pack value[N][Packs::max_value];
    simd::static_for<N>([&](auto n) MBIRK_FLAT {
      index_t const offset = sh.columns(warp, k + n);
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
      channel_weights<Views> const weights = sh.weights(warp, k + n);
      simd::static_for<all_sums>([&](auto m) MBIRK_FLAT {
        pack const weight = B::broadcast(weights.of[m / gather_channels][m % gather_channels]);
        packs.each([&](auto p) MBIRK_FLAT { sum[m][p] = fma(weight, value[n][p], sum[m][p]); });
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
        constexpr int m = v * gather_channels + t;
        if (own.channel + t >= shape.channels) return;
        index_t const at = shape.offset(chunk, own.view + v) + (own.channel + t + guard_channels) * shape.width;
        auto row = B::constant(0);
        if constexpr (Fours::value) {
          bool const mine = 4 * I::element(I::iota()) < used;
          packs.each([&](auto p) MBIRK_FLAT { sum[m][p] = mine ? sum[m][p] : B::constant(0); });
          epilogue.of_four(at, sum[m], row);
          if constexpr (Epilogue::stores) B::store_four(sinogram + at, sum[m]);
        } else {
          packs.each([&](auto p) MBIRK_FLAT {
            index_t const pack_at = at + p * B::lanes;
            pack const result = epilogue.of_pack(pack_at, sum[m][p], row);
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

  // Bounding boxes of the groups, and of sets of them (group_bounds).
  typename I::template cursor<std::int32_t const> doubled_row_center, row_extent, doubled_col_center, col_extent;
  device_span<pixel_group> groups;

  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    this->run(block, sh, [&](typename base::place const& own, auto const& add) MBIRK_FLAT {
      auto const reach = [&](int first, int count) MBIRK_FLAT {
        unsigned const reached = boxes_that_reach(own, own.view, first, count);
        return own.views > 1 ? reached | boxes_that_reach(own, own.view + 1, first, count) : reached;
      };
      visit_sets_of_groups(static_cast<int>(groups.size()), reach, [&](int g, unsigned reached) MBIRK_FLAT {
        visit_groups<I>(reached, g, groups, this->offsets, [&](index_t first, int count, index_t offset) MBIRK_FLAT {
          add(I::to_wide(I::load_ints(this->rows + first)), I::to_wide(I::load_ints(this->cols + first)), count,
              offset);
        });
      });
    });
  }

 private:
  /// Bit mask of the boxes g .. g + 31, of which `count` exist, that can reach this warp's channels (conservative).
  MBIRK_INLINE unsigned boxes_that_reach(typename base::place const& own, index_t number, int g,
                                         int count) const noexcept {
    auto const view = I::load_value(this->views + number);
    double const origin = own.origin(view), reach = 0.5 * (gather_channels - 1) + 0.5 * (view.width + 1);
    double const half_row = 0.5 * view.row_step, half_col = 0.5 * view.col_step;
    wide const row_half = I::broadcast(half_row), col_half = I::broadcast(half_col);
    wide const middle = fma(I::to_wide(I::load_ints(doubled_row_center + g)), row_half,
                            fma(I::to_wide(I::load_ints(doubled_col_center + g)), col_half, I::broadcast(origin)));
    wide const spread = abs(I::to_wide(I::load_ints(row_extent + g)) * row_half) +
        abs(I::to_wide(I::load_ints(col_extent + g)) * col_half);
    auto const none = I::constant(0), one = I::first_lanes(count);
    return I::where(none < one * I::to_pack(select(abs(middle) < spread + I::broadcast(reach), I::broadcast(1.0),
                                                   I::broadcast(0.0))));
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
