// Pixel partitions: subsets of the region of reconstruction that are updated together. Drawn on the host, bitwise as in
// MBIRJAX. The code accesses memory through cursors, so that counting counts its loads and stores; pixel lists have
// data under every policy, including the cost model.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/launch.hpp"
#include "mbirk/core/error.hpp"
#include "mbirk/exec/host.hpp"
#include "mbirk/instrument/none.hpp"

namespace mbirk {
namespace detail {

/// Generates the numbers of std::mt19937 (Matsumoto and Nishimura 1998), 624 at a time in branch-free loops that
/// compilers vectorise.
class mersenne_twister {
 public:
  explicit mersenne_twister(std::uint32_t seed) {
    state_[0] = seed;
    for (std::uint32_t i = 1; i < size; ++i) state_[i] = 1812433253u * (state_[i - 1] ^ (state_[i - 1] >> 30)) + i;
  }
  std::uint32_t operator()() {
    if (next_ == size) refill();
    return ready_[next_++];
  }

 private:
  static constexpr std::uint32_t size = 624, shift = 397;
  static std::uint32_t twist(std::uint32_t high, std::uint32_t low, std::uint32_t far) {
    std::uint32_t const y = (high & 0x80000000u) | (low & 0x7fffffffu);
    return far ^ (y >> 1) ^ ((0u - (low & 1u)) & 0x9908b0dfu);
  }
  MBIRK_HOST_NOINLINE void refill() {
    for (std::uint32_t i = 0; i < size - shift; ++i) state_[i] = twist(state_[i], state_[i + 1], state_[i + shift]);
    for (std::uint32_t i = size - shift; i < size - 1; ++i)
      state_[i] = twist(state_[i], state_[i + 1], state_[i + shift - size]);
    state_[size - 1] = twist(state_[size - 1], state_[0], state_[shift - 1]);
    for (std::uint32_t i = 0; i < size; ++i) {
      std::uint32_t x = state_[i];
      x ^= x >> 11;
      x ^= (x << 7) & 0x9d2c5680u;
      x ^= (x << 15) & 0xefc60000u;
      x ^= x >> 18;
      ready_[i] = x;
    }
    next_ = 0;
  }

  std::array<std::uint32_t, size> state_{}, ready_{};
  std::uint32_t next_ = size;
};

}  // namespace detail

/// NumPy's legacy random generator after numpy.random.seed(seed): draws the same numbers in the same order.
class numpy_random_state {
 public:
  explicit numpy_random_state(std::uint32_t seed) : engine_(seed) {}

  /// Uniform in [0, max]; draws nothing when max is 0. A draw is masked to the bit length of `max` and repeated
  /// while it exceeds `max`.
  std::uint32_t below(std::uint32_t max) {
    if (max == 0) return 0;
    std::uint32_t const mask = ~0u >> std::countl_zero(max);
    std::uint32_t x;
    do x = engine_() & mask;
    while (x > max);
    return x;
  }
  /// Calls swap(i, below(i)) for i = n - 1 ... 1, the draws of a shuffle. Draws are made a block ahead, so that
  /// rejection costs no branch.
  template <class Swap> void each_swap(index_t n, Swap const& swap) {
    std::uint32_t drawn[256];
    for (auto i = static_cast<std::uint32_t>(std::max<index_t>(n - 1, 0)); i > 0;) {
      std::uint32_t const mask = ~0u >> std::countl_zero(i), top = i;
      std::uint32_t count = 0;
      while (count < std::size(drawn) && i > mask / 2) {
        std::uint32_t const x = engine_() & mask, accepted = x <= i;
        drawn[count] = x;
        count += accepted;
        i -= accepted;
      }
      for (std::uint32_t k = 0; k < count; ++k) swap(top - k, drawn[k]);
    }
  }
  template <class T> void shuffle(std::vector<T>& a) {
    each_swap(static_cast<index_t>(a.size()), [&](std::uint32_t i, std::uint32_t j) { std::swap(a[i], a[j]); });
  }
  std::vector<std::int32_t> permutation(index_t n) {
    std::vector<std::int32_t> a(static_cast<std::size_t>(n));
    std::int32_t next = 0;
    for (auto& value : a) value = next++;  // <numeric> would cost every user 26 kB
    shuffle(a);
    return a;
  }

 private:
  detail::mersenne_twister engine_;
};

/// Subsets of equal length, stored row by row. `warnings` lists deviations from the request; it is usually empty.
struct pixel_partition {
  index_t subsets = 0, length = 0;
  std::vector<std::int32_t> indices;
  std::vector<std::string> warnings = {};
  std::span<std::int32_t const> subset(index_t s) const&& = delete;  // the span would dangle
  std::span<std::int32_t const> subset(index_t s) const& {
    return std::span(indices).subspan(static_cast<std::size_t>(s * length), static_cast<std::size_t>(length));
  }
};

namespace detail {

template <class Context> using index_backend = typename Context::backend::index_backend;
template <class I> using index_list = typename I::template cursor<std::int32_t>;
template <class I> using constant_list = typename I::template cursor<std::int32_t const>;
template <class Context> using index_memory = temporary<std::int32_t, Context>;
/// Pixel lists steer addresses: they need data under every policy.
inline constexpr bool always = true;

/// Allocates a partition.
inline pixel_partition make_partition(index_t subsets, index_t length) {
  pixel_partition p{subsets, length, {}};
  try {
    p.indices.resize(static_cast<std::size_t>(subsets * length));
  } catch (std::bad_alloc const&) {
    throw allocation_error("out of memory for a pixel partition of " + std::to_string(subsets) + " x " +
                               std::to_string(length) + " indices",
                           source_location::current());
  }
  return p;
}
MBIRK_COLD inline void warn_of_subsets(pixel_partition& p, char const* operation, index_t asked, index_t pixels) {
  if (asked <= pixels) return;
  p.warnings.push_back(std::string(operation) + ": " + std::to_string(asked) + " subsets of " + std::to_string(pixels) +
                       " pixels were asked for, made " + std::to_string(p.subsets));
}
template <class Context>
auto observe_partition(Context const& ctx, pixel_partition& p, array_role role = array_role::output) {
  return observe(ctx, p.indices.data(), {"pixel_indices", role, static_cast<index_t>(p.indices.size())});
}

/// Sets a to a random permutation of 0 ... n - 1.
template <class I> void permute(numpy_random_state& random, index_list<I> a, index_t n) {
  for (index_t k = 0; k < n; ++k) I::store_value(a + k, static_cast<std::int32_t>(k));
  random.each_swap(n, [&](std::uint32_t i, std::uint32_t j) {
    std::int32_t const x = I::load_value(a + i), y = I::load_value(a + j);
    I::store_value(a + i, y);
    I::store_value(a + j, x);
  });
}

/// Sorts a row whose first `sorted` entries are already ascending: the few others are sorted separately (in registers
/// or L1 cache: one load each is counted, comparisons are not) and merged from the end.
template <class I> void sort_tail(index_list<I> row, index_t sorted, index_t length, std::vector<std::int32_t>& tail) {
  tail.clear();
  for (index_t k = sorted; k < length; ++k) tail.push_back(I::load_value(row + k));
  std::sort(tail.begin(), tail.end());
  for (index_t at = length; !tail.empty();) {
    if (sorted > 0) {
      std::int32_t const before = I::load_value(row + (sorted - 1));
      if (before > tail.back()) {
        I::store_value(row + --at, before);
        --sorted;
        continue;
      }
    }
    I::store_value(row + --at, tail.back());
    tail.pop_back();
  }
}

/// Random partition. The ranks of the pixels are shuffled rather than the pixels themselves; distributing the ascending
/// pixels to the subsets of their ranks leaves every row sorted, which is several times faster than sorting. Only the
/// repeats at the end are merged in.
template <class Context>
pixel_partition random_partition(Context const& ctx, char const* operation, constant_list<index_backend<Context>> list,
                                 index_t count, index_t num_subsets, numpy_random_state& random,
                                 array_role role = array_role::output) {
  using I = index_backend<Context>;
  index_t const subsets = std::min(num_subsets, count), length = ceil_div(count, subsets),
                repeats = subsets * length - count;
  auto p = make_partition(subsets, length);
  warn_of_subsets(p, operation, num_subsets, count);
  auto const out = observe_partition(ctx, p, role);
  if (subsets == 1) {
    for (index_t k = 0; k < count; ++k) I::store_value(out + k, I::load_value(list + k));
    return p;
  }
  // Candidates for repetition: the pixels outside the last row.
  index_t const sources = std::min(count, (subsets - 1) * length);
  index_memory<Context> const order_memory(ctx, "random order", count, always),
      subset_memory(ctx, "subset of a pixel", count, always),
      repeats_memory(ctx, "random repeats", repeats > 0 ? sources : 0, always);
  temporary<index_t, Context> const next_memory(ctx, "next of a subset", subsets, always);
  auto const order = observe(ctx, order_memory), subset_of = observe(ctx, subset_memory),
             chosen = observe(ctx, repeats_memory);
  auto const next = observe(ctx, next_memory);
  {
    [[maybe_unused]] auto const guard = ctx.instr.stage("shuffle");
    permute<I>(random, order, count);
    if (repeats > 0) permute<I>(random, chosen, sources);
    else random.each_swap(sources, [](std::uint32_t, std::uint32_t) {});  // MBIRJAX draws them even when it needs none
  }
  [[maybe_unused]] auto const guard = ctx.instr.stage("subsets");
  for (index_t s = 0; s < subsets; ++s) {
    I::store_value(next + s, s * length);
    index_t const end = std::min(count, (s + 1) * length);
    for (index_t t = s * length; t < end; ++t)
      I::store_value(subset_of + I::load_value(order + t), static_cast<std::int32_t>(s));
  }
  for (index_t k = 0; k < count; ++k) {
    auto const to = next + I::load_value(subset_of + k);
    index_t const at = I::load_value(to);
    I::store_value(out + at, I::load_value(list + k));
    I::store_value(to, at + 1);
  }
  for (index_t k = 0; k < repeats; ++k)
    I::store_value(out + (count + k), I::load_value(list + I::load_value(order + I::load_value(chosen + k))));
  std::vector<std::int32_t> tail;
  for (index_t s = count / length; s < subsets; ++s)
    sort_tail<I>(out + s * length, std::max<index_t>(count - s * length, 0), length, tail);
  return p;
}

/// An observed mask.
template <class I> struct watched_mask {
  typename I::template cursor<std::uint8_t const> inside{};
  index_t rows = 0, cols = 0;
};
template <class Context>
watched_mask<index_backend<Context>> observe_mask(Context const& ctx, std::vector<std::uint8_t> const& mask,
                                                  index_t rows, index_t cols) {
  return {observe(ctx, mask.data(), {"mask", array_role::argument, static_cast<index_t>(mask.size())}), rows, cols};
}

template <class I> void list_pixels(watched_mask<I> const& mask, index_list<I> list) {
  for (index_t p = 0, k = 0; p < mask.rows * mask.cols; ++p)
    if (I::load_value(mask.inside + p)) I::store_value(list + k++, static_cast<std::int32_t>(p));
}

/// Random partition of the pixels inside a mask.
template <class Context>
pixel_partition random_partition(Context const& ctx, char const* operation,
                                 watched_mask<index_backend<Context>> const& mask, index_t count, index_t num_subsets,
                                 numpy_random_state& random) {
  using I = index_backend<Context>;
  index_memory<Context> const memory(ctx, "pixel list", count, always);
  auto const list = observe(ctx, memory);
  {
    [[maybe_unused]] auto const guard = ctx.instr.stage("list");
    list_pixels<I>(mask, list);
  }
  return random_partition(ctx, operation, constant_list<I>(list), count, num_subsets, random);
}

/// Validates the input of the partition operations.
inline void check_partition(char const* operation, index_t pixels, index_t num_subsets,
                            source_location w = source_location::current()) {
  constexpr index_t max_index = std::numeric_limits<std::int32_t>::max();
  require(
      num_subsets >= 1 && num_subsets <= max_index,
      [&] {
        return detail::message(operation, ": num_subsets is ", num_subsets, ", expected 1 to ", max_index);
      },
      w);
  require(
      pixels > 0, [&] { return detail::message(operation,
                                               ": no pixel is inside the mask, expected at least one"); }, w);
}
/// @return the number of pixels inside the mask.
inline index_t check_partition(char const* operation, std::vector<std::uint8_t> const& mask, index_t rows, index_t cols,
                               index_t num_subsets, source_location w = source_location::current()) {
  constexpr index_t max_index = std::numeric_limits<std::int32_t>::max();
  require<shape_error>(
      rows >= 0 && cols >= 0 && rows <= max_index && cols <= max_index &&
          rows * cols == static_cast<index_t>(mask.size()),
      [&] {
        return detail::message(operation, ": the mask has ", mask.size(), " pixels, expected rows * cols = ", rows,
                               " * ", cols);
      },
      w);
  require<shape_error>(
      rows * cols <= max_index,
      [&] {
        return detail::message(operation, ": the grid has ", rows * cols, " pixels, expected at most ", max_index,
                               ", because pixel indices have 32 bits");
      },
      w);
  index_t const pixels =
      static_cast<index_t>(mask.size()) - static_cast<index_t>(std::count(mask.begin(), mask.end(), std::uint8_t{0}));
  check_partition(operation, pixels, num_subsets, w);
  return pixels;
}

/// gen_pixel_partition of a list. Inside an algorithm neither the list nor the partition crosses its boundary, so both
/// roles are temporary.
template <class Context>
pixel_partition list_partition(Context const& ctx, std::span<std::int32_t const> pixels, index_t num_subsets,
                               numpy_random_state& random, array_role list_role, array_role role) {
  constexpr char const* name = "gen_pixel_partition";
  auto const count = static_cast<index_t>(pixels.size());
  check_partition(name, count, num_subsets);
  auto const fall = std::is_sorted_until(pixels.begin(), pixels.end());
  require(fall == pixels.end(), [&] {
    return detail::message(name, ": pixel ", fall - pixels.begin(), " of the list is ", *fall,
                           ", expected at least its predecessor ", *(fall - 1));
  });
  [[maybe_unused]] auto const guard = ctx.instr.scope({name, count});
  return random_partition(ctx, name, observe(ctx, pixels.data(), {"pixels", list_role, count}), count, num_subsets,
                          random, role);
}

/// Context of the functions that do not take one.
inline context<exec::host, instrument::none> plain_context() { return {exec::host{1}, instrument::none{}}; }

}  // namespace detail

/// Random partition of the P pixels inside a mask: num_subsets rows of ceil(P / num_subsets) pixels, each row
/// ascending, together covering all P pixels. A few pixels are repeated so that all rows have equal length. A single
/// subset draws nothing.
///
/// @param ctx          execution on the host and instrumentation; returns when done.
/// @param mask         (rows, cols), nonzero inside the region of reconstruction.
/// @param num_subsets  number of subsets; limited to P, with a warning in the result.
/// @param random       `numpy_random_state random(seed)` for the partition that MBIRJAX draws after
///                     numpy.random.seed(seed); its state advances.
/// @throws shape_error for a mask of another size, parameter_error for no pixel or num_subsets < 1, allocation_error.
/// Cost: about 2 P draws, 4 passes over lists of P pixels; serial (the draws form one sequence). Source: MBIRJAX 0.7.3.
template <execution_policy Exec, instrumentation_policy Instr>
pixel_partition gen_pixel_partition(context<Exec, Instr> const& ctx, std::vector<std::uint8_t> const& mask,
                                    index_t rows, index_t cols, index_t num_subsets, numpy_random_state& random) {
  index_t const pixels = detail::check_partition("gen_pixel_partition", mask, rows, cols, num_subsets);
  [[maybe_unused]] auto const guard = ctx.instr.scope({"gen_pixel_partition", pixels});
  return detail::random_partition(ctx, "gen_pixel_partition", detail::observe_mask(ctx, mask, rows, cols), pixels,
                                  num_subsets, random);
}

/// Random partition of a list of pixels, ascending as in `scan.full_indices()`.
/// @throws parameter_error when the list is empty or not ascending, or num_subsets < 1.
template <execution_policy Exec, instrumentation_policy Instr>
pixel_partition gen_pixel_partition(context<Exec, Instr> const& ctx, std::span<std::int32_t const> pixels,
                                    index_t num_subsets, numpy_random_state& random) {
  return detail::list_partition(ctx, pixels, num_subsets, random, array_role::argument, array_role::output);
}
inline pixel_partition gen_pixel_partition(std::span<std::int32_t const> pixels, index_t num_subsets,
                                           numpy_random_state& random) {
  return gen_pixel_partition(detail::plain_context(), pixels, num_subsets, random);
}
inline pixel_partition gen_pixel_partition(std::vector<std::uint8_t> const& mask, index_t rows, index_t cols,
                                           index_t num_subsets, numpy_random_state& random) {
  return gen_pixel_partition(detail::plain_context(), mask, rows, cols, num_subsets, random);
}

}  // namespace mbirk
