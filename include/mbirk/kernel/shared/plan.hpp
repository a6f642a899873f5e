// Processing order of pixels: groups of at most 64 neighbours, which are tiles of the grid or parts of a sorted list.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "mbirk/core/device_span.hpp"
#include "mbirk/core/index.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/view_taps.hpp"

namespace mbirk::kernel {

/// Number of tasks that keeps a whole device busy: some sixty warps for each of its 132 multiprocessors.
inline constexpr index_t tasks_of_a_device = 8192;
/// Pieces of each of `tasks` tasks, at most `most`, that make about as many.
inline index_t pieces_for_device(index_t tasks, index_t most) {
  return std::clamp<index_t>(ceil_div(tasks_of_a_device, std::max<index_t>(1, tasks)), 1, std::max<index_t>(1, most));
}
/// Pixels per task on a device, at most `most`: few, so that a subset makes enough tasks.
inline index_t pixels_of_device_task(index_t pixels, index_t most) {
  return std::clamp<index_t>(ceil_div(pixels, tasks_of_a_device), 1, most);
}

/// Pixels first .. first + count - 1 of a plan. tile_mask: the pixels of an 8 x 8 tile in this group (bit 8 di + dj); 0
/// if the group is not a tile.
struct pixel_group {
  index_t first;
  int count;
  std::uint64_t tile_mask;
};

/// Batches of groups that a task processes together, view by view, while a view is cached.
struct group_batches {
  index_t groups = 0, count = 0;  ///< batch b has groups b groups / count ... (b + 1) groups / count - 1

  MBIRK_HD index_t first(index_t b) const noexcept { return b * groups / count; }
  MBIRK_HD device_span<pixel_group> of(index_t b, device_span<pixel_group> all) const noexcept {
    return {all.begin() + first(b), first(b + 1) - first(b)};
  }
  index_t largest() const noexcept { return count > 0 ? ceil_div(groups, count) : 0; }
};

/// Elements of the next view that each pixel of a batch prefetches, so that all of the view is cached in time. 0
/// disables prefetching, if the batch is a tile or reads only a part of a view, or if the sinogram may be cached
/// anyway.
MBIRK_HD inline index_t prefetch_share(device_span<pixel_group> batch, chunked_shape const& shape) noexcept {
  auto const& last = batch[batch.size() - 1];
  index_t const pixels = last.first + last.count - batch[0].first;
  bool const reads_most = batch[0].tile_mask == 0 && 2 * pixels >= shape.channels;
  return reads_most && shape.size() > prefetch_threshold
             ? round_up(ceil_div(shape.view_size(), pixels), cache_line_floats)
             : 0;
}

/// Planned pixels. Rows and columns are padded by repeating the last pixel, because kernels read whole packs.
struct pixel_plan {
  std::vector<std::int32_t> rows, cols;
  std::vector<index_t> offsets;  ///< offsets of the voxel columns, in elements
  std::vector<pixel_group> groups;
  index_t pixels = 0;

  void finish() {
    pixels = static_cast<index_t>(rows.size());
    rows.resize(rows.size() + group_pixels, rows.empty() ? 0 : rows.back());
    cols.resize(cols.size() + group_pixels, cols.empty() ? 0 : cols.back());
  }
};

/// Plans the pixels of a grid where mask is 1 (every pixel without a mask) by tiles, and the tiles in blocks of 4 x 4
/// and 2 x 2, so that successive tiles share many of their channels. Pixel (i, j) is at offset
/// i row_stride + j col_stride.
inline pixel_plan plan_grid(index_t rows, index_t cols, std::uint8_t const* mask, index_t row_stride,
                            index_t col_stride) {
  pixel_plan plan;
  auto const most = static_cast<std::size_t>(rows * cols);
  plan.rows.resize(most);
  plan.cols.resize(most);
  plan.offsets.resize(most);
  std::size_t n = 0;
  auto const add_tile = [&](index_t i0, index_t j0) {
    pixel_group group{static_cast<index_t>(n), 0, 0};
    for (index_t i = i0; i < std::min(rows, i0 + tile_side); ++i)
      for (index_t j = j0; j < std::min(cols, j0 + tile_side); ++j) {
        if (mask && !mask[i * cols + j]) continue;
        plan.rows[n] = static_cast<std::int32_t>(i);
        plan.cols[n] = static_cast<std::int32_t>(j);
        plan.offsets[n++] = i * row_stride + j * col_stride;
        group.tile_mask |= std::uint64_t{1} << ((i - i0) * tile_side + (j - j0));
      }
    group.count = static_cast<int>(static_cast<index_t>(n) - group.first);
    if (group.count > 0) plan.groups.push_back(group);
  };
  for (index_t i0 = 0; i0 < rows; i0 += 4 * tile_side)
    for (index_t j0 = 0; j0 < cols; j0 += 4 * tile_side)
      for (int k = 0; k < 16; ++k)  // bits 3, 2: row, column of the 2 x 2 block; bits 1, 0: of the tile in it
        add_tile(i0 + tile_side * (2 * (k >> 3 & 1) + (k >> 1 & 1)), j0 + tile_side * (2 * (k >> 2 & 1) + (k & 1)));
  plan.rows.resize(n);
  plan.cols.resize(n);
  plan.offsets.resize(n);
  plan.finish();
  return plan;
}

/// Order of listed pixels.
enum class list_order {
  rows_of_squares,  ///< by squares of the grid that hold about a group each, row by row of squares
  hilbert_curve     ///< by squares of an eighth of a group, along a curve: any run of pixels is compact
};

/// Position of a square on the Hilbert curve through 2^bits x 2^bits squares: successive ones are neighbours.
constexpr index_t hilbert_position(int bits, index_t row, index_t col) {
  index_t position = 0;
  for (int bit = bits - 1; bit >= 0; --bit) {
    index_t const down = row >> bit & 1, right = col >> bit & 1;
    position = 4 * position + (3 * right ^ down);
    if (down == 0) {  // the curve through this quarter is reflected
      if (right == 1) {
        row = ~row;
        col = ~col;
      }
      std::swap(row, col);
    }
  }
  return position;
}

/// Squares of a grid along Hilbert curves: one as wide as the shorter side after the other along the longer one.
struct hilbert_squares {
  index_t down, across;  ///< squares
  int bits = 0;          ///< of the shorter side

  hilbert_squares(index_t rows, index_t cols)
      : down(std::max<index_t>(1, rows)),
        across(std::max<index_t>(1, cols)),
        bits(std::bit_width(static_cast<std::uint64_t>(std::min(down, across) - 1))) {}

  index_t count() const noexcept { return (((std::max(down, across) - 1) >> bits) + 1) << 2 * bits; }
  index_t position(index_t row, index_t col) const noexcept {
    index_t const longer = down > across ? row : col, shorter = down > across ? col : row;
    index_t const side = index_t{1} << bits;
    return ((longer >> bits) << 2 * bits) + hilbert_position(bits, shorter, longer & (side - 1));
  }
};

/// Plans a list of pixels, sorted by square(row, col), a number below `squares`. The counting sort is stable and
/// linear.
template <class Square>
pixel_plan plan_by_squares(std::span<std::int32_t const> pixels, index_t cols, index_t stride, index_t squares,
                           Square const& square) {
  index_t const count = static_cast<index_t>(pixels.size());
  auto const of = [&](std::int32_t p) { return static_cast<std::size_t>(square(p / cols, p % cols)); };
  std::vector<index_t> start(static_cast<std::size_t>(squares) + 1);
  for (auto const p : pixels) ++start[of(p) + 1];
  for (std::size_t s = 1; s < start.size(); ++s) start[s] += start[s - 1];
  pixel_plan plan;
  plan.rows.resize(pixels.size());
  plan.cols.resize(pixels.size());
  plan.offsets.resize(pixels.size());
  for (index_t k = 0; k < count; ++k) {
    auto const p = pixels[static_cast<std::size_t>(k)];
    auto const at = static_cast<std::size_t>(start[of(p)]++);
    plan.rows[at] = static_cast<std::int32_t>(p / cols);
    plan.cols[at] = static_cast<std::int32_t>(p % cols);
    plan.offsets[at] = k * stride;
  }
  index_t const parts = ceil_div(count, group_pixels);
  for (index_t p = 0; p < parts; ++p)
    plan.groups.push_back({p * count / parts, static_cast<int>((p + 1) * count / parts - p * count / parts), 0});
  plan.finish();
  return plan;
}

/// Plans a list of pixels, sorted by the square of the grid they lie in, so that a group shares its channels. The voxel
/// column of entry p is at offset p * stride.
inline pixel_plan plan_list(std::span<std::int32_t const> pixels, index_t rows, index_t cols, index_t stride,
                            list_order order = list_order::rows_of_squares) {
  bool const on_curve = order == list_order::hilbert_curve;
  index_t const count = static_cast<index_t>(pixels.size()), of_square = on_curve ? group_pixels / 8 : group_pixels;
  int shift = on_curve ? 0 : 3;
  while ((index_t{1} << 2 * shift) * count < of_square * rows * cols && (index_t{1} << shift) < std::max(rows, cols))
    ++shift;
  if (on_curve) {
    hilbert_squares const curve(((rows - 1) >> shift) + 1, ((cols - 1) >> shift) + 1);
    return plan_by_squares(pixels, cols, stride, curve.count(), [&](index_t row, index_t col) {
      return curve.position(row >> shift, col >> shift);
    });
  }
  index_t const across = (cols >> shift) + 1;
  return plan_by_squares(pixels, cols, stride, across * ((rows >> shift) + 1), [&](index_t row, index_t col) {
    return (row >> shift) * across + (col >> shift);
  });
}

/// Batches four neighbouring tiles, because their channels overlap, or fewer if that leaves too few batches for the
/// workers. Groups of a list read much of a view: a batch holds as many as fit into half of L2 with their sums (`bytes`
/// per group), but there are no fewer batches than workers.
inline group_batches batch_groups(device_span<pixel_group> groups, index_t bytes, int workers) {
  constexpr index_t cache = index_t{1} << 19;
  index_t const count = groups.size();
  if (count == 0 || groups[0].tile_mask != 0)
    return {count, std::max(ceil_div(count, index_t{4}), std::min(count, index_t{16} * workers))};
  index_t const fitting = std::max<index_t>(1, cache / std::max<index_t>(1, bytes));
  return {count, std::min(count, std::max<index_t>(ceil_div(count, fitting), workers))};
}

}  // namespace mbirk::kernel
