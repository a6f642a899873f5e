// Multi-axis parallel beam, per view and group of pixels: footprints and weights, vectorised over the pixels.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/multiaxis_taps.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Shared part of the kernels: the scratch layout, and the preparation of one pass for a group.
template <class B> struct multiaxis_view {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using source = typename B::template cursor<float const>;

  typename I::template cursor<std::int32_t const> rows, cols;  // rows and columns of the planned pixels
  index_t slices;
  chunked_shape shape;                                         // of the sinogram, with all rows in one chunk
  scratch_part ints{}, weights{}, positions{};

  void plan_scratch(scratch_layout& layout) {
    ints = layout.add<std::int32_t>("channels and packs", 3 * group_pixels);
    weights = layout.add<float>("weights", 3 * group_pixels);
    positions = layout.add<double>("edges", group_pixels);
  }
  MBIRK_HD index_t padded_slices() const noexcept { return max<index_t>(1, ceil_div(slices, B::lanes)) * B::lanes; }
  /// Scratch elements for a column that is resampled, with zeros before and after it.
  MBIRK_HD static index_t room_for(index_t width) noexcept { return width + 2 * resample_guard<B>; }

  /// Form of the resampling in a pass; general if the footprints overlap.
  template <bool TowardsRows> MBIRK_HD static resample_form form(multiaxis_taps const& pass) noexcept {
    return pass.tiles ? form_of<B>(TowardsRows ? 1 / pass.step : pass.step) : resample_form::general;
  }

  /// Channels and weights of a group, and where its columns begin: the position of the resampler, in fixed point, or
  /// the left edge of slice 0 in the general form.
  template <bool TowardsRows, class Scratch>
  MBIRK_NOINLINE void prepare(pixel_group const& group, multiaxis_taps const& pass, bool squared,
                              Scratch const& s) const noexcept {
    using wide = typename I::wide;
    auto const first = s.template at<std::int32_t>(ints), reach_first = first + group_pixels,
               reach_end = first + 2 * group_pixels;
    auto const w = s.template at<float>(weights);
    auto const at = s.template at<double>(positions);
    footprint_weights<I>(pass.channels, squared, shape.channels, group.tile_mask != 0, rows + group.first,
                         cols + group.first, group.count, first, [&](int tap, int k, auto value) MBIRK_FLAT {
                           I::store(w + (tap * group_pixels + k), value);
                         });
    index_t const from = TowardsRows ? slices : shape.rows, to = TowardsRows ? shape.rows : slices;
    auto const packs = I::broadcast(static_cast<float>(ceil_div(to, index_t{B::lanes})));
    bool const general = form<TowardsRows>(pass) == resample_form::general;
    double const scale = TowardsRows ? -1 / pass.step : 1.0, step = TowardsRows ? 1 / pass.step : pass.step;
    for (int k = 0; k < group.count; k += I::lanes) {
      wide const edge = fma(I::to_wide(I::load_ints(rows + (group.first + k))), I::broadcast(pass.row_step),
                            fma(I::to_wide(I::load_ints(cols + (group.first + k))), I::broadcast(pass.col_step),
                                I::broadcast(pass.edge)));
      if (general) {
        I::store(at + k, edge);
        continue;
      }
      wide const begin = edge * I::broadcast(scale);
      auto const reach = reach_of(I::to_pack(begin), I::broadcast(static_cast<float>(1 / step)),
                                  static_cast<float>(from), packs, B::lanes);
      I::store(at + k, resample_state_of<B>(begin, I::broadcast(step)).position);
      I::store(reach_first + k, I::to_ints(reach.first));
      I::store(reach_end + k, I::to_ints(reach.end));
    }
  }

  /// Calls f(pixel, first channel, first pack, end of the packs, next) for the pixels of a prepared group whose columns
  /// reach the other side; next() yields its packs one after the other. source_of(pixel) is the column to resample.
  template <resample_form Form, int Power, bool Ones, bool TowardsRows, class Scratch, class Source, class F>
  MBIRK_INLINE void each_pixel(int count, multiaxis_taps const& pass, Scratch const& s, Source const& source_of,
                               F const& f) const noexcept {
    auto const first = s.template at<std::int32_t>(ints), reach_first = first + group_pixels,
               reach_end = first + 2 * group_pixels;
    auto const at = s.template at<double>(positions);
    index_t const from = TowardsRows ? slices : shape.rows,
                  packs = ceil_div(TowardsRows ? shape.rows : slices, index_t{B::lanes});
    if constexpr (Form == resample_form::general) {
      for (int p = 0; p < count; ++p) {
        double const edge = I::load_value(at + p);
        auto const range = reached(edge, pass, TowardsRows, packs);
        if (range.first >= range.end) continue;
        auto const taps = TowardsRows ? gathered_taps::towards_rows(edge, pass.step, pass.width, slices)
                                      : gathered_taps::towards_slices(edge, pass.step, pass.width, shape.rows);
        source const u = source_of(p);
        index_t k = range.first * B::lanes;
        f(p, I::load_value(first + p), range.first, range.end, [&]() MBIRK_FLAT {
          pack sum = B::constant(0);
          auto const d = I::to_wide(I::iota()) + I::broadcast(static_cast<double>(k));
          taps.template each<I, TowardsRows>(d, [&](typename I::ints cell, typename I::wide overlap) MBIRK_FLAT {
            auto const tap = I::to_pack(overlap);
            sum = fma(B::lift(Power == 1 ? tap : tap * tap), B::gather(u, cell), sum);
          });
          k += B::lanes;
          return sum;
        });
      }
    } else {
      double const step = TowardsRows ? 1 / pass.step : pass.step;
      auto const state = resample_state_of<B>(0.0, step);
      auto const words = static_cast<std::int32_t>(state.lane_words);
      pack const inverse = B::broadcast(static_cast<float>(1 / step));
      for (int p = 0; p < count; ++p) {
        index_t const begin = I::load_value(reach_first + p), end = I::load_value(reach_end + p);
        if (begin >= end) continue;
        resampler<B, Form, Power, Ones> cells(source_of(p), from, I::load_value(at + p), state.advance, words, inverse,
                                              begin);
        f(p, I::load_value(first + p), begin, end, [&]() MBIRK_FLAT { return cells.next(); });
      }
    }
  }

 private:
  struct pack_range { index_t first, end; };
  /// Destination packs that a column in the general form can reach: all of the slices, if any meets the detector, and
  /// the rows that they cover.
  MBIRK_HD pack_range reached(double edge, multiaxis_taps const& pass, bool towards_rows,
                              index_t packs) const noexcept {
    double const travel = pass.step * static_cast<double>(slices - 1), low = travel < 0 ? edge + travel : edge,
                 high = (travel < 0 ? edge : edge + travel) + pass.width;
    if (!(high > 0 && low < static_cast<double>(shape.rows))) return {0, 0};
    if (!towards_rows) return {0, packs};
    double const last = static_cast<double>(shape.rows);
    return {static_cast<index_t>(low > 0 ? low : 0) / B::lanes,
            min(packs, ceil_div(static_cast<index_t>(std::ceil(high < last ? high : last)), index_t{B::lanes}))};
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
