// Cone forward projection on a device: a warp owns four channels of one view over a range of the rows and accumulates
// them in registers. The warps of a block own the same channels of neighbouring views, which need nearly the same
// pixels. Lanes are sets of groups, then groups, then pixels of a group, then slices of a pixel found, then rows, onto
// which they are resampled.
#pragma once

#include "mbirk/exec/block.hpp"
#include "mbirk/geometry/scan.hpp"
#include "mbirk/kernel/device/cone_boxes.hpp"
#include "mbirk/kernel/device/gather_bounds.hpp"
#include "mbirk/kernel/device/gather_epilogue.hpp"
#include "mbirk/kernel/device/staged_resample.hpp"
#include "mbirk/kernel/shared/cone_taps.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/simd/with_packs.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// A pixel that reaches the four channels of a warp, read as 128-bit words.
struct alignas(16) projected_pixel {
  float weight[gather_channels];
  lane_line line;
  float square;         ///< squared magnification
  std::int32_t staged;  ///< packs of slices that are staged
  index_t offset;       ///< of its voxel column
  std::int32_t inside;  ///< whether all slices that are staged exist
};
static_assert(sizeof(projected_pixel) == 64);

/// Sums of four channels of a view over a range of the rows; derived kernels find the pixels.
template <class B, class Epilogue = gather_store<B>> struct cone_gather_sums {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using wide = typename I::wide;
  static constexpr int warps = 4, most_packs = 8;
  static constexpr launch_bounds bounds{warps * warp_lanes, 3};
  template <class Block> struct shared {
    typename Block::template tile<projected_pixel, warps, warp_lanes> pixels;       // those found of 32
    typename Block::template tile<float, warps * staged_cells<most_packs>> slices;  // of one of them
    typename Block::template tile<typename B::template cursor<float const>, warps> elevations;  // of a warp's view
  };

  cone_geometry geometry;
  typename B::template cursor<float const> voxel_columns;
  typename B::template cursor<float> sinogram;                 // channel-major, one chunk
  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  typename I::template cursor<index_t const> offsets;          // offsets of their voxel columns
  typename I::template cursor<view_position const> positions;
  typename B::template cursor<float const> elevations;  // t_k of every slice
  index_t elevation_stride;                             // between views
  chunked_shape shape;
  pack_pieces pieces;                                   // pieces of the detector rows
  Epilogue epilogue{};

  /// Blocks are (four channels, four views, piece).
  index3 grid() const noexcept {
    return {static_cast<int>(ceil_div(shape.channels, gather_channels)),
            static_cast<int>(ceil_div(shape.views, warps)), static_cast<int>(pieces.count())};
  }

 protected:
  /// Channels, rows and view that a warp owns.
  struct place {
    int view, channel, row;  // first channel, first row
  };

  /// Calls find(place, add) and stores the sums. find calls add(i, j, count, offset) for the first `count` of 32 pixels
  /// (i, j), one per lane, with the offset of the lane's voxel column.
  template <class Block, class Find>
  MBIRK_INLINE void run(Block const& block, shared<Block>& sh, Find const& find) const noexcept {
    with_packs<B, most_packs>(pieces.packs_of(block.index().z), [&](auto packs) MBIRK_FLAT {
      int const view = block.index().y * warps + block.warp_rank();
      if (view >= shape.views) return;  // uniform across the warp, and no block barrier follows
      place const own{view, block.index().x * gather_channels, static_cast<int>(pieces.first(block.index().z))};
      // In shared memory: otherwise the compiler would compute it again for every pixel.
      if (block.warp().lane() == 0) sh.elevations(block.warp_rank()) = elevations + view * elevation_stride;
      pack sum[gather_channels][decltype(packs)::max_value];
      simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
        packs.each([&](auto i) MBIRK_FLAT { sum[t][i] = B::constant(0); });
      });
      find(own, [&](typename I::ints i, typename I::ints j, int count, index_t offset) MBIRK_FLAT {
        int const found = keep(packs, own, i, j, count, offset, block, sh);
        block.warp().sync();
        MBIRK_KEEP_LOOP for (int k = 0; k < found; ++k) add(packs, k, block, sh, sum);
      });
      index_t const quads = ceil_div(shape.channels, index_t{gather_channels});
      store(packs, own, epilogue.index_of_sum(view, block.index().z * quads + block.index().x), sum);
    });
  }

 private:
  /// Puts those of 32 pixels that reach the channels and rows into shared memory. Returns their number.
  template <class Packs, class Block>
  MBIRK_INLINE int keep(Packs packs, place const& own, typename I::ints i, typename I::ints j, int count,
                        index_t offset, Block const& block, shared<Block>& sh) const noexcept {
    auto const number = [](double x) MBIRK_FLAT { return I::broadcast(x); };
    cone_footprints<I> const footprints(geometry, I::load_value(positions + own.view), 0);
    auto const f = footprints.of(i, j);
    wide const step = number(1) / f.row_width,
        start = (number(static_cast<double>(own.row)) - footprints.row_edge(f)) * step;
    // This warp's rows may not intersect the voxel column at all.
    wide const end = fma(step, number(packs * B::lanes), start), slices = number(static_cast<double>(geometry.slices));
    wide const chord = select(start < slices, select(number(0) < end, f.channel.chord, number(0)), number(0));
    // Overlaps are computed in float32, so distances are from the centre of the four channels.
    double const middle = static_cast<double>(own.channel) + 0.5 * (gather_channels - 1);
    auto const distance = I::to_pack(f.channel.centre - number(middle)),
               width = I::to_pack(f.channel.width), length = I::to_pack(chord) * I::first_lanes(count);
    auto any = I::constant(0);
    projected_pixel pixel;
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      auto const from_channel = distance + I::constant(0.5 * (gather_channels - 1) - t);
      auto const weight = definition::overlap(from_channel, width) * length;
      pixel.weight[t] = I::element(weight);
      any = any + weight;
    });
    pixel.line = make_line(I::element(start), I::element(step), I::element(I::to_pack(f.row_width)));
    pixel.square = I::element(I::to_pack(f.magnification * f.magnification));
    pixel.staged = staged_packs(pixel.line, packs);
    pixel.inside = all_cells_exist(pixel.line, packs, static_cast<std::int32_t>(geometry.slices));
    pixel.offset = offset;
    unsigned const found = I::where(I::constant(0) < any), before = (1u << block.warp().lane()) - 1;
    block.warp().sync();  // the pixels before these are no longer read
    if (found & (before + 1)) sh.pixels(block.warp_rank(), mbirk::detail::bit_count(found & before)) = pixel;
    return mbirk::detail::bit_count(found);
  }

  /// Adds pixel k of a warp.
  template <class Packs, class Block>
  MBIRK_INLINE void add(Packs packs, int k, Block const& block, shared<Block>& sh,
                        pack (&sum)[gather_channels][Packs::max_value]) const noexcept {
    projected_pixel const pixel = sh.pixels(block.warp_rank(), k);
    pack value[Packs::max_value];
    if (pixel.line.form == resample_form::general) {
      gather_rows(packs, block, sh, pixel, value);
    } else {
      if (pixel.inside) stage_slices<true>(packs, block, sh, pixel);
      else stage_slices<false>(packs, block, sh, pixel);
      block.warp().sync();
      if (pixel.line.form == resample_form::two_tap) take_rows<resample_form::two_tap>(packs, block, sh, pixel, value);
      else take_rows<resample_form::three_tap>(packs, block, sh, pixel, value);
      block.warp().sync();  // the slices are no longer read
    }
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      pack const weight = B::broadcast(pixel.weight[t]);
      packs.each([&](auto i) MBIRK_FLAT { sum[t][i] = fma(weight, value[i], sum[t][i]); });
    });
  }

  /// Resamples a voxel column, times the secants of its slices, to means over rows: each lane loads the slices of its
  /// row, however many these are.
  template <class Packs, class Block>
  MBIRK_INLINE void gather_rows(Packs packs, Block const& block, shared<Block>& sh, projected_pixel const& pixel,
                                pack (&value)[Packs::max_value]) const noexcept {
    auto const column = voxel_columns + pixel.offset, elevation = elevation_of(block, sh);
    pack const square = B::broadcast(pixel.square);
    lane_resampler<B, resample_form::general, 1> rows_of(pixel.line, static_cast<std::int32_t>(geometry.slices));
    rows_of.run(packs, value, [&](typename B::ints k) MBIRK_FLAT {
      return B::gather(column, k) * definition::elevation_secant(square, B::gather(elevation, k));
    });
  }

  /// Puts the slices of a voxel column, times their secants, into shared memory.
  template <bool Inside, class Packs, class Block>
  MBIRK_INLINE void stage_slices(Packs packs, Block const& block, shared<Block>& sh,
                                 projected_pixel const& pixel) const noexcept {
    auto const column = voxel_columns + pixel.offset, elevation = elevation_of(block, sh);
    pack const square = B::broadcast(pixel.square);
    staged_line<B> const line(pixel.line, staged_at(block));
    line.template stage<Inside>(packs, pixel.staged, sh.slices, static_cast<std::int32_t>(geometry.slices),
                                [&](typename B::ints k, bool exists) MBIRK_FLAT {
      return B::gather_where(column, k, exists) *
          definition::elevation_secant(square, B::gather_where(elevation, k, exists));
    });
  }
  /// Resamples the slices in shared memory to means over rows.
  template <resample_form Form, class Packs, class Block>
  MBIRK_INLINE void take_rows(Packs packs, Block const& block, shared<Block>& sh, projected_pixel const& pixel,
                              pack (&value)[Packs::max_value]) const noexcept {
    staged_resampler<B, Form, 1> const rows_of(pixel.line, staged_at(block));
    packs.each([&](auto i) MBIRK_FLAT { value[i] = rows_of.at(i, sh.slices); });
  }
  /// t_k of the view of a warp.
  template <class Block> static MBIRK_INLINE auto elevation_of(Block const& block, shared<Block>& sh) noexcept {
    typename B::template cursor<float const> const elevation = sh.elevations(block.warp_rank());
    return B::in_global_memory(elevation);
  }
  /// Where the slices of a warp begin in shared memory.
  template <class Block> static MBIRK_INLINE int staged_at(Block const& block) noexcept {
    return block.warp_rank() * staged_cells<most_packs>;
  }

  /// Passes the channels that exist to the epilogue and stores them.
  template <class Packs>
  MBIRK_INLINE void store(Packs packs, place const& own, index_t index_of_sum,
                          pack (&sum)[gather_channels][Packs::max_value]) const noexcept {
    index_t const first = shape.offset(0, own.view) + (own.channel + guard_channels) * shape.width + own.row;
    auto total = B::no_sum();
    simd::static_for<gather_channels>([&](auto t) MBIRK_FLAT {
      if (own.channel + t >= shape.channels) return;
      auto row = B::constant(0);
      packs.each([&](auto i) MBIRK_FLAT {
        index_t const left = shape.rows - own.row - i * B::lanes, at = first + (t * shape.width + i * B::lanes);
        pack const z = left >= B::lanes ? sum[t][i] : sum[t][i] * B::first_lanes(left);
        B::store(sinogram + at, epilogue.of_pack(at, z, row));
      });
      total = total + B::widen(row);
    });
    epilogue.end(index_of_sum, total);
  }
};

/// Visits the groups whose bounding boxes reach the channels.
template <class B> struct cone_gather : cone_gather_sums<B> {
  using base = cone_gather_sums<B>;
  using I = typename B::index_backend;
  template <class Block> struct shared : base::template shared<Block> {
    typename Block::template tile<cone_view_of_warp, base::warps> views;
  };

  group_boxes<I> boxes;
  device_span<pixel_group> groups;

  template <class Block> MBIRK_HD void operator()(Block const& block, shared<Block>& sh) const noexcept {
    this->run(block, sh, [&](typename base::place const& own, auto const& add) MBIRK_FLAT {
      if (this->geometry.slices == 0) return;
      int const warp = block.warp_rank();
      if (block.warp().lane() == 0)
        sh.views(warp) = cone_view_of_warp(this->geometry, I::load_value(this->positions + own.view), own.channel);
      block.warp().sync();
      auto const reach = [&](int first, int count) MBIRK_FLAT {
        return boxes_that_reach<I>(sh.views(warp), this->geometry.curved, boxes, first, count);
      };
      visit_groups<I>(groups, static_cast<int>(groups.size()), reach, [&](index_t first, int count) MBIRK_FLAT {
        add(I::load_ints(this->rows + first), I::load_ints(this->cols + first), count,
            offset_of_lane<I>(this->offsets, first, count));
      });
    });
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
