// 3 x 3 x 3 median on a device: the sorted triples of kernel/shared/median.hpp in registers. A warp has up to 32
// slices, one per lane, moves along the columns of a row, and takes the slices beside its own from other lanes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "mbirk/kernel/shared/median.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// A task is a run of columns of one row, for up to 32 slices. Where there are more, a warp also reads the slice before
/// its first and the one after its last, so it writes two slices less. NaNs are propagated beside the values: a flag is
/// added that is NaN if the window has one, else -0, which leaves all bits unchanged.
template <class B> struct median_lanes {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  static constexpr index_t cols_of_a_task = 32;
  static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

  strided_cursor<typename B::template cursor<float const>> image;
  strided_cursor<typename B::template cursor<float>> median, minimum, maximum;
  bool with_minimum, with_maximum;
  index_t rows, cols, slices;

  MBIRK_HD index_t slices_of_a_task() const noexcept { return slices > B::lanes ? B::lanes - 2 : B::lanes; }
  MBIRK_HD index_t chunks() const noexcept { return ceil_div(slices, slices_of_a_task()); }
  MBIRK_HD index_t col_blocks() const noexcept { return ceil_div(cols, cols_of_a_task); }
  MBIRK_HD index_t tasks() const noexcept { return rows * col_blocks() * chunks(); }

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const all_chunks = chunks(), blocks = col_blocks(), row = task / (blocks * all_chunks),
                  first = task / all_chunks % blocks * cols_of_a_task, last = min(cols, first + cols_of_a_task),
                  k0 = task % all_chunks * slices_of_a_task();
    std::int32_t const lane = I::element(I::iota());
    index_t const slice = k0 + lane - (all_chunks > 1 ? 1 : 0);
    lanes_of_slices const at{
        I::broadcast(static_cast<std::int32_t>(clamp<index_t>(slice, 0, slices - 1))),
        I::broadcast(slice > 0 ? lane - 1 : lane), I::broadcast(slice < slices - 1 ? lane + 1 : lane),
        slice >= k0 && slice < min(slices, k0 + slices_of_a_task())};
    auto left = sort_rows(row, max<index_t>(first - 1, 0), at), here = sort_rows(row, first, at);
    MBIRK_KEEP_LOOP for (index_t col = first; col < last; ++col) {
      auto const right = sort_rows(row, min(col + 1, cols - 1), at);
      select_middle(left, here, right, {row, col, 0}, at);
      left = here;
      here = right;
    }
    index_t const written = min(slices_of_a_task(), slices - k0);
    B::note_lanes(written * (last - first), B::lanes * (last - first));
  }

 private:
  /// Minimum and maximum of numbers; what they are of a NaN does not matter.
  struct number {
    pack v;
    friend MBIRK_INLINE number min(number a, number b) { return {min_number(a.v, b.v)}; }
    friend MBIRK_INLINE number max(number a, number b) { return {max_number(a.v, b.v)}; }
  };
  /// Three rows of a column, sorted, and whether one of them is NaN.
  struct sorted_rows {
    number at[3];
    pack flag;
  };
  /// For each lane: its slice, the lanes that have the slices before and after it, and whether the lane writes it.
  struct lanes_of_slices {
    typename I::ints slice, before, after;
    bool mine;
  };

  MBIRK_INLINE sorted_rows sort_rows(index_t row, index_t col, lanes_of_slices const& at) const noexcept {
    auto const load = [&](index_t i) MBIRK_FLAT { return B::gather(image({i, col, 0}), at.slice); };
    pack const a = load(max<index_t>(row - 1, 0)), b = load(row), c = load(min(row + 1, rows - 1));
    sorted_rows s{{{a}, {b}, {c}},
                  select(is_nan(a) | is_nan(b) | is_nan(c), B::constant(not_a_number), B::constant(-0.0))};
    sort_triple(s.at[0], s.at[1], s.at[2]);
    return s;
  }

  MBIRK_INLINE void select_middle(sorted_rows const& left, sorted_rows const& here, sorted_rows const& right,
                                  pack_position p, lanes_of_slices const& at) const noexcept {
    number square[9];  // 3 x + y holds the y-th smallest of the x-th smallest values of three columns
    simd::static_for<3>([&](auto x) MBIRK_FLAT {
      auto& s = square;
      s[3 * x] = left.at[x];
      s[3 * x + 1] = here.at[x];
      s[3 * x + 2] = right.at[x];
      sort_triple(s[3 * x], s[3 * x + 1], s[3 * x + 2]);
    });
    auto const beside = [&](pack const& x, int z) MBIRK_FLAT {
      return z == 1 ? x : lookup(x, z == 0 ? at.before : at.after);
    };
    pack const flag = left.flag + here.flag + right.flag, nan = beside(flag, 0) + flag + beside(flag, 2);
    auto const window = [&](int plane, int z) MBIRK_FLAT { return number{beside(square[plane].v, z)}; };
    auto const middle = median_network::median<number>([&](auto place) MBIRK_FLAT {
      return window(place / 3, place % 3);
    });
    put(median, p, middle.v + nan, at);
    if (with_minimum) put(minimum, p, min(min(window(0, 0), window(0, 1)), window(0, 2)).v + nan, at);
    if (with_maximum) put(maximum, p, max(max(window(8, 0), window(8, 1)), window(8, 2)).v + nan, at);
  }
  MBIRK_INLINE static void put(strided_cursor<typename B::template cursor<float>> const& to, pack_position p, pack x,
                               lanes_of_slices const& at) noexcept {
    B::scatter(to(p), at.slice, x, at.mine);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
