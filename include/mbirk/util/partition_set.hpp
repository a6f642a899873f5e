// Pixel partitions from label patterns (blue noise, random grid), sets of random partitions, and the sequence in which
// the iterations use a set.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mbirk/util/blue_noise.hpp"
#include "mbirk/util/partition.hpp"

namespace mbirk {
namespace detail {

/// Labels repeated over the grid: pixel (i, j) has the label at (i mod rows, j mod cols).
template <class I> struct label_tile {
  constant_list<I> labels{};
  index_t rows = 0, cols = 0, count = 0;  ///< labels are 0 ... count - 1
};

/// Calls f(pixel, label) for the pixels inside the mask, in ascending order.
template <class I, class F>
void each_labelled_pixel(watched_mask<I> const& mask, label_tile<I> const& tile, F const& f) {
  for (index_t i = 0, down = 0; i < mask.rows; ++i) {
    for (index_t j = 0, across = 0; j < mask.cols; ++j) {
      index_t const pixel = i * mask.cols + j;
      if (I::load_value(mask.inside + pixel))
        f(static_cast<std::int32_t>(pixel), I::load_value(tile.labels + (down * tile.cols + across)));
      if (++across == tile.cols) across = 0;
    }
    if (++down == tile.rows) down = 0;
  }
}

enum class empty_labels { dropped, refused };
enum class row_order { ascending, repeats_last };

/// Each row holds the pixels of one label, ascending, followed by pixels of the next labels until all rows are as long
/// as the longest. Empty when a label has no pixel and empty labels are refused; in that case nothing has been drawn.
template <class Context>
std::optional<pixel_partition> labelled_partition(Context const& ctx, watched_mask<index_backend<Context>> const& mask,
                                                  label_tile<index_backend<Context>> const& tile, empty_labels empty,
                                                  row_order order, numpy_random_state& random) {
  using I = index_backend<Context>;
  temporary<index_t, Context> const size_memory(ctx, "subset sizes", tile.count, always),
      next_memory(ctx, "next of a label", tile.count, always);
  auto const sizes = observe(ctx, size_memory), next = observe(ctx, next_memory);
  index_t subsets = 0, min_size = std::numeric_limits<index_t>::max(), max_size = 0;
  {
    [[maybe_unused]] auto const guard = ctx.instr.stage("count");
    for (index_t s = 0; s < tile.count; ++s) I::store_value(sizes + s, index_t{0});
    each_labelled_pixel(mask, tile, [&](std::int32_t, std::int32_t label) {
      I::store_value(sizes + label, I::load_value(sizes + label) + 1);
    });
    for (index_t s = 0; s < tile.count; ++s) {
      index_t const size = I::load_value(sizes + s);
      if (size == 0) continue;
      ++subsets;
      min_size = std::min(min_size, size);
      max_size = std::max(max_size, size);
    }
  }
  if (subsets < tile.count && empty == empty_labels::refused) return std::nullopt;

  [[maybe_unused]] auto const guard = ctx.instr.stage("subsets");
  auto p = make_partition(subsets, max_size);
  auto const out = observe_partition(ctx, p);
  for (index_t s = 0, k = 0; s < tile.count; ++s) {
    index_t const size = I::load_value(sizes + s);
    if (size == 0) continue;
    I::store_value(next + s, k * max_size);
    I::store_value(sizes + k++, size);  // from here on, sizes has only non-empty subsets
  }
  each_labelled_pixel(mask, tile, [&](std::int32_t pixel, std::int32_t label) {
    index_t const at = I::load_value(next + label);
    I::store_value(out + at, pixel);
    I::store_value(next + label, at + 1);
  });

  index_memory<Context> const repeats_memory(ctx, "random repeats", max_size - min_size + 1, always);
  auto const chosen = observe(ctx, repeats_memory);  // one more than used, as in MBIRJAX
  auto const last = static_cast<std::uint32_t>(min_size - 1);
  for (index_t k = 0; k <= max_size - min_size; ++k)
    I::store_value(chosen + k, static_cast<std::int32_t>(random.below(last)));
  for (index_t s = 0; s < subsets; ++s) {
    index_t const size = I::load_value(sizes + s);
    for (index_t k = 0; k < max_size - size; ++k) {
      index_t const from = (s + 1 + k) % subsets * max_size + I::load_value(chosen + k);
      I::store_value(out + (s * max_size + size + k), I::load_value(out + from));
    }
  }
  if (order == row_order::repeats_last) return p;
  // Rows are sorted last, because until then the first pixels of every row must be its own.
  std::vector<std::int32_t> tail;
  for (index_t s = 0; s < subsets; ++s) sort_tail<I>(out + s * max_size, I::load_value(sizes + s), max_size, tail);
  return p;
}

/// The labels floor(B / (65536 / count)) of the blue-noise ranking B, limited to the part that a (rows, cols) grid
/// needs.
template <class Context>
label_tile<index_backend<Context>> blue_noise_labels(Context const& ctx, index_memory<Context> const& memory,
                                                     index_t rows, index_t cols, index_t count) {
  using I = index_backend<Context>;
  [[maybe_unused]] auto const guard = ctx.instr.stage("labels");
  auto const text = observe(ctx, blue_noise_text,
                            {"blue noise", array_role::temporary, static_cast<index_t>(sizeof blue_noise_text)});
  auto const labels = observe(ctx, memory);
  double const width = 65536.0 / static_cast<double>(count);
  for (index_t i = 0; i < rows; ++i)
    for (index_t j = 0; j < cols; ++j) {
      auto const at = text + 3 * (i * blue_noise_side + j);
      int const rank = blue_noise_value(I::load_value(at), I::load_value(at + 1), I::load_value(at + 2));
      // A quotient, not a product, because its rounding decides ties.
      I::store_value(labels + (i * cols + j), static_cast<std::int32_t>(rank / width));
    }
  return {labels, rows, cols, count};
}

}  // namespace detail

/// Partition by a blue-noise pattern: pixel (i, j) belongs to subset floor(B(i mod 256, j mod 256) / (65536 /
/// num_subsets)), so the pixels of a subset are evenly distributed. Rows are as long as the largest subset, ascending;
/// shorter ones are filled with pixels of the subsets that follow. If there are more subsets than pixels, or a subset
/// without pixels, the random partition of `gen_pixel_partition` is returned instead (in the first case with a
/// warning).
///
/// Parameters and errors are those of `gen_pixel_partition`. Cost: two passes over the mask, few draws. Source: MBIRJAX
/// 0.7.3.
template <execution_policy Exec, instrumentation_policy Instr>
pixel_partition gen_pixel_partition_blue_noise(context<Exec, Instr> const& ctx, std::vector<std::uint8_t> const& mask,
                                               index_t rows, index_t cols, index_t num_subsets,
                                               numpy_random_state& random) {
  using Context = context<Exec, Instr>;
  constexpr char const* name = "gen_pixel_partition_blue_noise";
  index_t const pixels = detail::check_partition(name, mask, rows, cols, num_subsets);
  [[maybe_unused]] auto const guard = ctx.instr.scope({name, pixels});
  auto const watched = detail::observe_mask(ctx, mask, rows, cols);
  if (num_subsets <= pixels) {
    index_t const tile_rows = std::min(rows, detail::blue_noise_side),
                  tile_cols = std::min(cols, detail::blue_noise_side);
    detail::index_memory<Context> const memory(ctx, "labels", tile_rows * tile_cols, detail::always);
    auto const tile = detail::blue_noise_labels(ctx, memory, tile_rows, tile_cols, num_subsets);
    if (auto p = detail::labelled_partition(ctx, watched, tile, detail::empty_labels::refused,
                                            detail::row_order::ascending, random))
      return *std::move(p);
  }
  return detail::random_partition(ctx, name, watched, pixels, num_subsets, random);
}
inline pixel_partition gen_pixel_partition_blue_noise(std::vector<std::uint8_t> const& mask, index_t rows, index_t cols,
                                                      index_t num_subsets, numpy_random_state& random) {
  return gen_pixel_partition_blue_noise(detail::plain_context(), mask, rows, cols, num_subsets, random);
}

/// Partition by a random tile: with t = ceil(sqrt(num_subsets)), pixel (i, j) belongs to the subset that a random
/// permutation of 0 ... t^2 - 1 assigns to (i mod t, j mod t). There are t^2 subsets, which is more than num_subsets
/// unless that is a square, less those without pixels. Rows are as long as the largest subset; its own pixels come
/// first, ascending, then pixels of the subsets that follow, in MBIRJAX's order. If t^2 exceeds the number of pixels,
/// the result has one subset per pixel and a warning (MBIRJAX returns labels instead of pixels).
///
/// Parameters and errors are those of `gen_pixel_partition`. Cost: two passes over the mask, few draws. Source: MBIRJAX
/// 0.7.3.
template <execution_policy Exec, instrumentation_policy Instr>
pixel_partition gen_pixel_partition_grid(context<Exec, Instr> const& ctx, std::vector<std::uint8_t> const& mask,
                                         index_t rows, index_t cols, index_t num_subsets, numpy_random_state& random) {
  using Context = context<Exec, Instr>;
  using I = detail::index_backend<Context>;
  constexpr char const* name = "gen_pixel_partition_grid";
  index_t const pixels = detail::check_partition(name, mask, rows, cols, num_subsets);
  [[maybe_unused]] auto const guard = ctx.instr.scope({name, pixels});
  auto const watched = detail::observe_mask(ctx, mask, rows, cols);
  auto const side = static_cast<index_t>(std::ceil(std::sqrt(static_cast<double>(num_subsets)))), labels = side * side;
  if (labels > pixels) {
    // MBIRJAX draws before it checks the number of subsets.
    random.each_swap(labels, [](std::uint32_t, std::uint32_t) {});
    auto p = detail::make_partition(pixels, 1);
    detail::warn_of_subsets(p, name, labels, pixels);
    detail::list_pixels<I>(watched, detail::observe_partition(ctx, p));
    return p;
  }
  detail::index_memory<Context> const memory(ctx, "labels", labels, detail::always);
  auto const tile = observe(ctx, memory);
  {
    [[maybe_unused]] auto const stage = ctx.instr.stage("labels");
    detail::permute<I>(random, tile, labels);
  }
  return *detail::labelled_partition(ctx, watched, detail::label_tile<I>{tile, side, side, labels},
                                     detail::empty_labels::dropped, detail::row_order::repeats_last, random);
}
inline pixel_partition gen_pixel_partition_grid(std::vector<std::uint8_t> const& mask, index_t rows, index_t cols,
                                                index_t num_subsets, numpy_random_state& random) {
  return gen_pixel_partition_grid(detail::plain_context(), mask, rows, cols, num_subsets, random);
}

namespace detail {

/// Implementation of gen_set_of_pixel_partitions, with the array roles of list_partition.
template <class Context>
std::vector<pixel_partition> partition_set(Context const& ctx, std::span<std::int32_t const> pixels,
                                           std::span<index_t const> granularity, numpy_random_state& random,
                                           array_role list_role, array_role role) {
  [[maybe_unused]] auto const guard =
      ctx.instr.scope({"gen_set_of_pixel_partitions", static_cast<index_t>(pixels.size())});
  std::vector<pixel_partition> set;
  set.reserve(granularity.size());
  for (auto const num_subsets : granularity)
    set.push_back(list_partition(ctx, pixels, num_subsets, random, list_role, role));
  return set;
}

}  // namespace detail

/// One random partition for every entry of `granularity`, in order, whether used later or not: a reconstruction draws
/// them before its first iteration.
/// @param pixels  ascending, as in `scan.full_indices()`.
/// @throws the errors of `gen_pixel_partition`.
template <execution_policy Exec, instrumentation_policy Instr>
std::vector<pixel_partition> gen_set_of_pixel_partitions(context<Exec, Instr> const& ctx,
                                                         std::span<std::int32_t const> pixels,
                                                         std::span<index_t const> granularity,
                                                         numpy_random_state& random) {
  return detail::partition_set(ctx, pixels, granularity, random, array_role::argument, array_role::output);
}
inline std::vector<pixel_partition> gen_set_of_pixel_partitions(std::span<std::int32_t const> pixels,
                                                                std::span<index_t const> granularity,
                                                                numpy_random_state& random) {
  return gen_set_of_pixel_partitions(detail::plain_context(), pixels, granularity, random);
}

/// The partition used by each of `iterations` iterations: the first entries of `sequence`, whose last entry repeats if
/// it is too short.
/// @throws parameter_error for an empty sequence or iterations < 0.
inline std::vector<index_t> gen_partition_sequence(std::span<index_t const> sequence, index_t iterations) {
  require(!sequence.empty(),
          [] { return "gen_partition_sequence: the sequence is empty, expected at least one entry"; });
  require(iterations >= 0, [&] {
    return detail::message("gen_partition_sequence: iterations is ", iterations, ", expected at least 0");
  });
  auto const given = sequence.first(std::min(sequence.size(), static_cast<std::size_t>(iterations)));
  std::vector<index_t> taken(given.begin(), given.end());
  taken.resize(static_cast<std::size_t>(iterations), sequence.back());
  return taken;
}

}  // namespace mbirk
