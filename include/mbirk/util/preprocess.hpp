// Conversion of detector counts to line integrals: white and dark fields, logarithm, repair of dead pixels. Plain code,
// one task per view.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "mbirk/launch.hpp"
#include "mbirk/core/finite.hpp"

namespace mbirk {

/// Mean of any number of frames (white or dark fields), accumulated in double.
class frame_mean {
 public:
  frame_mean(index_t rows, index_t channels)
      : shape_{rows, channels}, sums_(static_cast<std::size_t>(rows * channels)) {}

  /// @throws shape_error unless frames has shape (frames, rows, channels).
  void add(view<float const, 3> frames) {
    require_shape(frames, {frames.extent(0), shape_[0], shape_[1]}, "frame_mean", "frames", "(frames, rows, channels)");
    for (index_t f = 0; f < frames.extent(0); ++f)
      for (index_t m = 0; m < shape_[0]; ++m)
        for (index_t n = 0; n < shape_[1]; ++n)
          sums_[static_cast<std::size_t>(m * shape_[1] + n)] += static_cast<double>(frames(f, m, n));
    count_ += frames.extent(0);
  }
  /// Mean frame, rows * channels values. @throws parameter_error when no frame was added.
  std::vector<float> values() const {
    require(count_ > 0, [] { return "frame_mean: no frames, expected at least one"; });
    std::vector<float> mean;
    for (auto const sum : sums_) mean.push_back(static_cast<float>(sum / static_cast<double>(count_)));
    return mean;
  }

 private:
  std::array<index_t, 2> shape_;
  std::vector<double> sums_;
  index_t count_ = 0;
};

/// Rows and channels from which a dead pixel is repaired: one more in each pass.
constexpr index_t dead_pixel_reach = 3;

/// Numbers of dead pixels: those replaced by the mean of their neighbours, and those too far from any valid pixel,
/// which are 0.
struct repair_count {
  index_t repaired = 0, lost = 0;
  repair_count& operator+=(repair_count const& other) noexcept {
    repaired += other.repaired;
    lost += other.lost;
    return *this;
  }
};

namespace detail {

/// Task v computes view v. A dead pixel is NaN in the result until it is repaired; its bits are compared, because
/// -ffast-math ignores NaN.
struct line_integrals_of_view {
  static constexpr index_t passes = dead_pixel_reach;

  view<float const, 3> counts;
  view<float const, 2> white, dark;
  view<float, 3> result;
  float* lines;     // 2 * channels per view
  index_t* totals;  // (dead, lost) per view, of rows [first_row, first_row + rows)
  index_t first_row, rows;

  bool counted(index_t row) const noexcept { return row >= first_row && row < first_row + rows; }
  static float line_integral(float count, float white, float dark) noexcept {
    if (!is_finite(count) || !is_finite(white) || !is_finite(dark) || count <= dark || white <= dark)
      return std::bit_cast<float>(0x7fc00000u);
    double const d = dark;
    return static_cast<float>(-std::log((count - d) / (white - d)));
  }

  void operator()(index_t v) const noexcept {
    index_t dead = 0, lost = 0;
    totals[2 * v] = 0;
    for (index_t m = 0; m < result.extent(1); ++m) {
      index_t const before = dead;
      for (index_t n = 0; n < result.extent(2); ++n) {
        float const y = line_integral(counts(v, m, n), white(m, n), dark(m, n));
        result(v, m, n) = y;
        dead += !is_finite(y);
      }
      if (counted(m)) totals[2 * v] += dead - before;
    }
    for (index_t pass = 0; pass < passes && dead > 0; ++pass) dead -= repair(v);
    for (index_t m = 0; m < result.extent(1) && dead > 0; ++m)
      for (index_t n = 0; n < result.extent(2); ++n)
        if (!is_finite(result(v, m, n))) {
          result(v, m, n) = 0;
          lost += counted(m);
        }
    totals[2 * v + 1] = lost;
  }

  /// One pass: every dead pixel with a valid one among its eight neighbours becomes their mean. Pixels repaired in this
  /// pass count as valid only in the next, so the original values of the line above and of the current line are kept.
  index_t repair(index_t v) const noexcept {
    index_t const channels = result.extent(2);
    float *above = lines + 2 * v * channels, *here = above + channels;
    index_t repaired = 0;
    for (index_t m = 0; m < result.extent(1); ++m) {
      for (index_t n = 0; n < channels; ++n) here[n] = result(v, m, n);
      for (index_t n = 0; n < channels; ++n) {
        if (is_finite(here[n])) continue;
        double sum = 0;
        int good = 0;
        auto const take = [&](float y) {
          if (is_finite(y)) {
            sum += static_cast<double>(y);
            ++good;
          }
        };
        for (index_t c = n > 0 ? n - 1 : 0; c < channels && c <= n + 1; ++c) {
          if (m > 0) take(above[c]);
          take(here[c]);
          if (m + 1 < result.extent(1)) take(result(v, m + 1, c));
        }
        if (good == 0) continue;
        result(v, m, n) = static_cast<float>(sum / good);
        ++repaired;
      }
      std::swap(above, here);
    }
    return repaired;
  }
};

}  // namespace detail

/// Computes y = -log((counts - dark) / (white - dark)) and repairs dead pixels. A pixel is dead in a view if its count
/// is not finite or not above the dark field, and in all views if its white field is not. In up to three passes, a dead
/// pixel becomes the mean of the valid ones among its eight neighbours in the view; pixels that no pass reaches become
/// 0.
///
/// Views are independent of each other, so a sinogram may be computed in blocks of views; and of rows, if
/// dead_pixel_reach rows more are read on either side. Computed in double.
/// @param ctx             execution on the host and instrumentation; returns when done.
/// @param counts          (views, rows, channels).
/// @param white, dark     (rows, channels), e.g. from frame_mean; dark is zeros if there is no dark field.
/// @param line_integrals  (views, rows, channels), dimensionless; overwritten; may be the memory of counts.
/// @param first_row, counted_rows  dead pixels of these rows only are counted; default: all.
/// @throws shape_error before anything runs, allocation_error.
/// Cost: one logarithm per pixel. The result is bitwise independent of the number of threads.
template <task_policy Exec, class Instr>
repair_count counts_to_line_integrals(context<Exec, Instr> const& ctx, view<float const, 3> counts,
                                      view<float const, 2> white, view<float const, 2> dark,
                                      view<float, 3> line_integrals, index_t first_row = 0,
                                      std::optional<index_t> counted_rows = {}) {
  using Context = context<Exec, Instr>;
  static_assert(Context::backend::has_data, "preprocessing has no cost model");
  char const* const name = "counts_to_line_integrals";
  index_t const views = counts.extent(0), rows = counts.extent(1), channels = counts.extent(2);
  require_shape(counts, {views, rows, channels}, name, "counts", "(views, rows, channels)");
  require_shape(white, {rows, channels}, name, "white", "(rows, channels)");
  require_shape(dark, {rows, channels}, name, "dark", "(rows, channels)");
  require_shape(line_integrals, {views, rows, channels}, name, "line_integrals", "(views, rows, channels)");

  [[maybe_unused]] auto const guard = ctx.instr.scope({name, counts.size()});
  temporary<float, Context> const lines(ctx, "repair lines", 2 * views * channels);
  temporary<index_t, Context> const totals(ctx, "repair totals", 2 * views);
  launch(ctx, views, detail::line_integrals_of_view{counts, white, dark, line_integrals, lines.data(), totals.data(),
                                                    first_row, counted_rows.value_or(rows)});
  repair_count all;
  for (index_t v = 0; v < views; ++v)
    all += {totals.data()[2 * v] - totals.data()[2 * v + 1], totals.data()[2 * v + 1]};
  return all;
}

}  // namespace mbirk
