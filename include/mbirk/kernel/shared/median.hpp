// Tuned 3 x 3 x 3 median. Triples are sorted along rows (shared by nine windows), then along columns (shared by three),
// then along slices. The window is then a cube that ascends along each axis, and a short network selects its median.
// Every element takes the same fixed sequence of min and max, so the cost is independent of the data and equal for all
// lanes.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "mbirk/kernel/shared/elementwise.hpp"
#include "mbirk/kernel/shared/scratch.hpp"
#include "mbirk/simd/pack.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Writes the minimum to a and the maximum to b. The operand order differs between min and max, so that the two results
/// are always the two arguments, even for NaNs and zeros of either sign.
template <class T> MBIRK_INLINE void exchange(T& a, T& b) {
  T const low = min(a, b);
  b = max(b, a);
  a = low;
}
template <class T> MBIRK_INLINE void sort_triple(T& a, T& b, T& c) {
  exchange(a, b);
  exchange(b, c);
  exchange(a, b);
}

/// Selection network: compare-exchanges between the 27 positions 9 x + 3 y + z of a window that ascends along x and y.
/// First along z, as far as needed: an element with (x + 1)(y + 1)(z + 1) > 14 has 14 others below it, so neither it
/// nor its mirror image can be the median; that leaves 19. The other exchanges were found by a search over sequences
/// that exploit the known order (980 patterns of zeros and ones), for the fewest min and max operations.
namespace median_network {

struct step {
  std::int8_t low = 0, high = 0;
  bool opens_triple = false, keeps_low = true, keeps_high = true;
};
inline constexpr int middle = 13;  ///< final position of the median

inline constexpr std::int8_t along_z[][2] = {
    {0, 1},   {1, 2},   {4, 5},   {3, 4},   {4, 5},   {6, 7},   {7, 8},   {6, 7},   {10, 11}, {9, 10},  {10, 11},
    {12, 13}, {13, 14}, {12, 13}, {15, 16}, {16, 17}, {15, 16}, {18, 19}, {19, 20}, {18, 19}, {21, 22}, {22, 23},
    {21, 22}, {25, 26}, {24, 25}};
inline constexpr std::int8_t selection[][2] = {
    {4, 6},   {8, 20},  {8, 24},  {2, 6},   {8, 16},  {6, 10},  {8, 14},  {10, 12}, {7, 11},  {7, 18},  {8, 22},
    {5, 15},  {11, 21}, {11, 18}, {11, 12}, {8, 21},  {18, 19}, {15, 19}, {5, 18},  {8, 13},  {15, 18}, {8, 15},
    {13, 18}, {12, 15}, {13, 15}, {12, 13}};

inline constexpr int steps_along_z = sizeof along_z / sizeof along_z[0],
    all_steps = steps_along_z + sizeof selection / sizeof selection[0];
struct step_list { step at[all_steps]; };
/// Both lists, without the results that nothing reads.
inline constexpr auto steps = [] {
  constexpr int first = steps_along_z;
  step_list list{};
  for (int k = 0; k < all_steps; ++k) {
    auto const& pair = k < first ? along_z[k] : selection[k - first];
    list.at[k] = {pair[0], pair[1], k < first && (k == 0 || along_z[k - 1][0] / 3 != pair[0] / 3)};
  }
  bool needed[27] = {};
  needed[middle] = true;
  for (int k = all_steps; k-- > 0;) {
    auto& s = list.at[k];
    s.keeps_low = needed[s.low];
    s.keeps_high = needed[s.high];
    needed[s.low] = needed[s.high] = s.keeps_low || s.keeps_high;
  }
  return list;
}();
/// Number of min and max operations that are left.
inline constexpr int operations = [] {
  int n = 0;
  for (auto const& s : steps.at) n += s.keeps_low + s.keeps_high;
  return n;
}();

/// Median of a window that ascends along x and y. Calls load(position) once for each of the 27 positions, per triple
/// along z, just before the first use of that triple.
template <class T, class Load> MBIRK_INLINE T median(Load const& load) {
  T w[27];
  simd::static_for<all_steps>([&](auto k) MBIRK_FLAT {
    constexpr step s = steps.at[k];
    if constexpr (s.opens_triple) {
      constexpr int triple = s.low / 3 * 3;
      simd::static_for<3>([&](auto z) MBIRK_FLAT { w[triple + z] = load(simd::constant<triple + z>{}); });
    }
    T const low = w[s.low], high = w[s.high];
    if constexpr (s.keeps_low) w[s.low] = min(low, high);
    if constexpr (s.keeps_high) w[s.high] = max(high, low);
  });
  return w[middle];
}

}  // namespace median_network

/// A task is a run of columns of one row, for a chunk of slices. NaNs are propagated beside the values: a flag is added
/// that is NaN if the window has one, else -0, which leaves all bits unchanged.
template <class B> struct median_window {
  using pack = typename B::pack;
  static constexpr index_t cols_of_a_task = 32;
  static constexpr index_t most_slices = 256;                ///< per chunk, so that the sorted triples stay in L1
  static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
  // Planes: low, middle, high, NaN flag; after sorting columns: nine planes and the NaN flag.
  static constexpr int sorted = 4, planes = 10, flags = 9;

  strided_cursor<typename B::template cursor<float const>> image;
  strided_cursor<typename B::template cursor<float>> median, minimum, maximum;
  bool with_minimum, with_maximum;
  index_t rows, cols, slices;
  index_t chunk = 0, chunks = 0, col_blocks = 0, width = 0;
  scratch_layout layout{};
  scratch_part by_row{}, by_column{};

  /// Cuts the array into tasks and reserves the scratch parts; called once before the launch.
  void plan_scratch() {
    chunks = ceil_div(slices, most_slices);
    chunk = chunks > 0 ? round_up(ceil_div(slices, chunks), B::lanes) : 0;
    chunks = chunks > 0 ? ceil_div(slices, chunk) : 0;
    col_blocks = ceil_div(cols, cols_of_a_task);
    width = chunk + 3 * B::lanes;
    by_row = layout.add<float>("sorted along rows", 3 * sorted * width);
    by_column = layout.add<float>("sorted along columns", planes * width);
  }
  MBIRK_HD index_t tasks() const noexcept { return rows * col_blocks * chunks; }

  template <class Scratch> MBIRK_HD void operator()(index_t task, Scratch const& s) const noexcept {
    auto const triples = s.template at<float>(by_row);
    auto const squares = s.template at<float>(by_column);
    index_t const row = task / (col_blocks * chunks), block = task / chunks % col_blocks, k0 = task % chunks * chunk;
    index_t const n = min(chunk, slices - k0), first = block * cols_of_a_task, last = min(cols, first + cols_of_a_task);
    index_t next = max<index_t>(first - 1, 0);
    for (index_t col = first; col < last; ++col) {
      for (; next <= min(col + 1, cols - 1); ++next) sort_rows(row, next, k0, n, triples + next % 3 * (sorted * width));
      auto const of = [&](index_t c) { return triples + clamp<index_t>(c, 0, cols - 1) % 3 * (sorted * width); };
      sort_columns(of(col - 1), of(col), of(col + 1), k0, n, squares);
      select_middle(squares, {row, col, k0}, n);
    }
  }

 private:
  using buffer = typename B::template cursor<float>;
  /// Slices [from, to) that a chunk of n slices from k0 reads: one more on either side, if it exists.
  struct reach { index_t from = 0, to = 0; };
  MBIRK_HD reach reach_of(index_t k0, index_t n) const noexcept {
    return {max<index_t>(k0 - 1, 0), min(k0 + n + 1, slices)};
  }
  /// Position of a slice in a plane: slice k0 is at B::lanes, the one before it at B::lanes - 1.
  MBIRK_HD static index_t place(index_t slice, index_t k0) noexcept { return B::lanes + (slice - k0); }

  /// Sorts rows row - 1, row, row + 1 of one column into planes (low, middle, high, NaN flag).
  MBIRK_HD void sort_rows(index_t row, index_t col, index_t k0, index_t n, buffer out) const noexcept {
    auto const above = max<index_t>(row - 1, 0), below = min(row + 1, rows - 1);
    auto const [from, to] = reach_of(k0, n);
    auto const none = B::constant(-0.0), nan = B::constant(not_a_number);
    for (index_t k = from; k < to; k += B::lanes) {
      int const lanes = static_cast<int>(min<index_t>(B::lanes, to - k));
      pack a = load_lanes<B>(image({above, col, k}), lanes), b = load_lanes<B>(image({row, col, k}), lanes);
      pack c = load_lanes<B>(image({below, col, k}), lanes);
      auto const flag = select(is_nan(a) | is_nan(b) | is_nan(c), nan, none);
      sort_triple(a, b, c);
      auto const to_here = out + (k - from);
      B::store(to_here, a);
      B::store(to_here + width, b);
      B::store(to_here + 2 * width, c);
      B::store(to_here + 3 * width, flag);
    }
  }

  /// Plane 3 x + y holds the y-th smallest of the x-th smallest values of three columns. Border slices are replicated
  /// beyond the array.
  MBIRK_HD void sort_columns(buffer left, buffer here, buffer right, index_t k0, index_t n, buffer out) const noexcept {
    auto const [from, to] = reach_of(k0, n);
    order_lanes<B>();  // the windows of the column before have been read
    for (index_t k = from; k < to; k += B::lanes) {
      index_t const at = k - from;
      auto const to_here = out + place(k, k0);
      simd::static_for<3>([&](auto x) MBIRK_FLAT {
        pack a = B::load(left + (x * width + at)), b = B::load(here + (x * width + at)),
            c = B::load(right + (x * width + at));
        sort_triple(a, b, c);
        B::store(to_here + 3 * x * width, a);
        B::store(to_here + (3 * x + 1) * width, b);
        B::store(to_here + (3 * x + 2) * width, c);
      });
      B::store(to_here + flags * width,
               B::load(left + (3 * width + at)) + B::load(here + (3 * width + at)) + B::load(right + (3 * width + at)));
    }
    order_lanes<B>();
    for (index_t p = 0; p < planes; ++p) {
      auto const plane = out + p * width;
      if (from == k0) B::store_partial(plane + place(k0 - 1, k0), B::load_partial(plane + place(k0, k0), 1), 1);
      if (to == k0 + n) B::store_partial(plane + place(to, k0), B::load_partial(plane + place(to - 1, k0), 1), 1);
    }
    order_lanes<B>();
  }

  MBIRK_HD void select_middle(buffer squares, pack_position p, index_t n) const noexcept {
    for (index_t k = 0; k < n; k += B::lanes) {
      int const lanes = static_cast<int>(min<index_t>(B::lanes, n - k));
      auto const window = [&](int plane, int z) MBIRK_FLAT {
        return B::load(squares + (plane * width + (place(k, 0) + z - 1)));
      };
      auto const at = pack_position{p.i, p.j, p.k + k};
      auto const nan = window(flags, 0) + window(flags, 1) + window(flags, 2);
      auto const middle = median_network::median<pack>([&](auto place) MBIRK_FLAT {
        return window(place / 3, place % 3);
      });
      store_lanes<B>(median(at), middle + nan, lanes);
      if (with_minimum) store_lanes<B>(minimum(at), min(min(window(0, 0), window(0, 1)), window(0, 2)) + nan, lanes);
      if (with_maximum) store_lanes<B>(maximum(at), max(max(window(8, 0), window(8, 1)), window(8, 2)) + nan, lanes);
    }
    B::note_lanes(n, round_up(n, B::lanes));
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
