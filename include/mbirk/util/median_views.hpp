// Median filter of views, in two dimensions, for windows of any odd size.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "mbirk/launch.hpp"

namespace mbirk {
namespace detail {

/// Index of a sample beyond the edges of `size` samples, which are mirrored: -1 is 0, -2 is 1, size is size - 1.
inline index_t mirrored(index_t k, index_t size) noexcept {
  index_t const period = 2 * size, at = ((k % period) + period) % period;
  return at < size ? at : period - 1 - at;
}

/// Task v of a block filters view first + v. A histogram of the levels of a window moves along a row; the level of the
/// median tells which of the window's samples are candidates.
struct median_of_view {
  static constexpr index_t levels = 4096, part = 64;  ///< levels are counted by parts, too
  static constexpr index_t counters = levels + levels / part;

  view<float, 3> y;
  index_t size, first;
  float* frames;           // (rows + size - 1, channels + size - 1) per task, mirrored at the edges
  std::uint16_t* leveled;  // the same samples on a scale of whole numbers
  std::int32_t* counts;    // counters per task

  /// Numbers of samples of a window by level, and the part in which the median was last.
  struct window_counts {
    std::int32_t *of_level, *of_part;
    index_t middle = 0;
    std::int32_t below = 0;  ///< samples of parts before the middle

    void add(std::uint16_t level, std::int32_t by) noexcept {
      index_t const at = level / part;
      of_level[level] += by;
      of_part[at] += by;
      below += at < middle ? by : 0;
    }
    /// Level of the sample of this rank, which becomes its rank among the samples of that level.
    index_t find(std::int32_t& rank) noexcept {
      while (below > rank) below -= of_part[--middle];
      while (below + of_part[middle] <= rank) below += of_part[middle++];
      rank -= below;
      index_t level = middle * part;
      for (; rank >= of_level[level]; ++level) rank -= of_level[level];
      return level;
    }
  };

  void operator()(index_t task) const noexcept {
    index_t const v = first + task, rows = y.extent(1), channels = y.extent(2), reach = size / 2,
                  width = channels + size - 1, height = rows + size - 1;
    float* const frame = frames + task * width * height;
    std::uint16_t* const level = leveled + task * width * height;
    auto* const of_level = counts + task * counters;
    window_counts window{of_level, of_level + levels};
    float low = std::numeric_limits<float>::infinity(), high = -low;
    for (index_t m = 0; m < height; ++m)
      for (index_t n = 0; n < width; ++n) {
        float const sample = y(v, mirrored(m - reach, rows), mirrored(n - reach, channels));
        frame[m * width + n] = sample;
        low = std::min(low, sample);
        high = std::max(high, sample);
      }
    double const scale = high > low ? (levels - 1) / (static_cast<double>(high) - static_cast<double>(low)) : 0;
    for (index_t k = 0; k < width * height; ++k)
      level[k] = static_cast<std::uint16_t>((static_cast<double>(frame[k]) - static_cast<double>(low)) * scale);
    auto const column = [&](index_t m, index_t n, std::int32_t by) {
      for (index_t r = 0; r < size; ++r) window.add(level[(m + r) * width + n], by);
    };
    std::fill_n(of_level, counters, 0);
    for (index_t m = 0; m < rows; ++m) {
      for (index_t n = 0; n < size; ++n) column(m, n, 1);
      for (index_t n = 0; n < channels; ++n) {
        if (n > 0) {
          column(m, n - 1, -1);
          column(m, n + size - 1, 1);
        }
        auto rank = static_cast<std::int32_t>(size * size / 2);
        auto const of = static_cast<std::uint16_t>(window.find(rank));
        y(v, m, n) = nth(frame + m * width + n, level + m * width + n, of_level[of], of, rank);
      }
      for (index_t n = channels - 1; n < channels + size - 1; ++n) column(m, n, -1);
    }
  }

  /// The sample of this rank among the `count` ones of a level in a window.
  float nth(float const* frame, std::uint16_t const* level, std::int32_t count, std::uint16_t of,
            std::int32_t rank) const noexcept {
    index_t const width = y.extent(2) + size - 1;
    float candidates[most_size * most_size];
    std::int32_t found = 0;
    for (index_t at = 0; found < count; at += width) {
      std::uint16_t there = 0;
      for (index_t c = 0; c < size; ++c) there = static_cast<std::uint16_t>(there + (level[at + c] == of));
      for (index_t c = 0; there > 0; ++c)
        if (level[at + c] == of) {
          candidates[found++] = frame[at + c];
          --there;
        }
    }
    // Often they are equal, such as those of a background that was clipped.
    auto const [least, most] = std::minmax_element(candidates, candidates + count);
    if (*least < *most) std::nth_element(candidates, candidates + rank, candidates + count);
    return candidates[rank];
  }

  static constexpr index_t most_size = 63;
};

}  // namespace detail

/// Replaces every pixel of a view by the median of the size x size pixels around it; edges are mirrored. Noise and
/// single bright or dark pixels vanish, edges stay, details narrower than size / 2 are lost.
/// @param y     (views, rows, channels), finite; in place.
/// @param size  odd, 1 to 63.
/// @throws parameter_error for another size; allocation_error.
/// Cost: about 2 size + size^2 / 16 steps per pixel. The result is bitwise independent of the number of threads.
template <task_policy Exec, class Instr>
void median_filter_views(context<Exec, Instr> const& ctx, view<float, 3> y, index_t size) {
  using filter = detail::median_of_view;
  require(size >= 1 && size <= filter::most_size && size % 2 == 1, [&] {
    return "median_filter_views: size is " + std::to_string(size) + ", expected an odd number from 1 to " +
           std::to_string(filter::most_size);
  });
  if (size == 1 || y.size() == 0) return;
  index_t const views = y.extent(0), pixels = (y.extent(1) + size - 1) * (y.extent(2) + size - 1);
  [[maybe_unused]] auto const guard = ctx.instr.scope({"median_filter_views", y.size()});
  index_t const block = std::clamp<index_t>((index_t{1} << 23) / pixels, std::min<index_t>(views, 2), views);
  temporary<float, context<Exec, Instr>> const frames(ctx, "views with mirrored edges", block * pixels);
  temporary<std::uint16_t, context<Exec, Instr>> const leveled(ctx, "levels of views", block * pixels);
  temporary<std::int32_t, context<Exec, Instr>> const window(ctx, "histograms of windows", block * filter::counters);
  for (index_t first = 0; first < views; first += block)
    launch(ctx, std::min(block, views - first),
           filter{y, size, first, frames.data(), leveled.data(), window.data()});
}

}  // namespace mbirk
