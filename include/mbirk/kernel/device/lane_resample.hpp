// Vertical resampling of the cone kernels on a device: each lane computes the mean of a sequence over its own interval.
// Forms and weights are those of kernel/shared/resample.hpp, but lanes load their sources by index, so the short forms
// allow steps of up to two, and the source needs no zeros around it.
#pragma once

#include <cmath>
#include <cstdint>

#include "mbirk/core/bits.hpp"
#include "mbirk/definition/footprint.hpp"
#include "mbirk/exec/block.hpp"
#include "mbirk/kernel/shared/resample.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Division of a row of packs into equal pieces of at most `most` packs; the last one may be shorter.
struct pack_pieces {
  index_t packs, each;
  pack_pieces(index_t packs_of_a_line, index_t most)
      : packs(packs_of_a_line), each(ceil_div(packs, ceil_div(packs, most))) {}

  MBIRK_HD index_t count() const noexcept { return ceil_div(packs, each); }
  MBIRK_HD index_t first(index_t piece) const noexcept { return piece * each * warp_lanes; }  ///< first element
  MBIRK_HD int packs_of(index_t piece) const noexcept { return static_cast<int>(min(each, packs - piece * each)); }
};

/// Destination cell k is the interval [start + step k, start + step (k + 1)), in source cells.
struct lane_line {
  /// In 2^-32 cells. advance: 32 steps, each in whole 2^-31 cells and below two cells, which fit 32 bits.
  struct words { std::int64_t start, advance; };
  struct reals { double start, step; };
  union { words fixed; reals exact; };  // exact for the general form, else fixed
  float scale;                          // 1/step for means, step for squares
  resample_form form;
};
MBIRK_INLINE lane_line make_line(double start, double step, float scale) {
  constexpr double one = 4294967296.0;
  lane_line line;
  line.scale = scale;
  line.form = form_of(step, 2);
  if (line.form == resample_form::general) line.exact = {start, step};
  else line.fixed = {static_cast<std::int64_t>(clamp(start, -1e9, 1e9) * one),
                     static_cast<std::int64_t>(min(step * (one / 2) + 0.5, one - 1)) * (2 * warp_lanes)};
  return line;
}

/// Weights of the short forms, whose interval begins at fraction f of a cell. Power 1 gives means, power 2 sums of
/// squared overlaps times the source.
template <class B, resample_form Form, int Power> class short_weights {
  using pack = typename B::pack;

 public:
  short_weights() = default;
  /// @param scale  that of a lane_line
  MBIRK_INLINE explicit short_weights(float scale) {
    constexpr float apart = Form == resample_form::three_tap ? 2 : 1;
    scale_ = Power == 1 ? scale * 0x1p-32f : 0x1p-32f;
    low_ = scale;
    high_ = Power == 1 ? 1 - apart * scale : scale - apart;
  }

  /// @param f   times 2^32
  /// @param at  at(k): value of the k-th cell that the interval meets
  template <class At> MBIRK_INLINE pack sum(pack f, At const& at) const {
    pack const scale = B::broadcast(scale_), low = B::broadcast(low_),
        last = saturated_fma(f, scale, B::broadcast(high_));  // no weight is above 1
    pack const u0 = at(0), u1 = at(1);
    if constexpr (Form == resample_form::two_tap) {
      if constexpr (Power == 1) return fma(last, u1 - u0, u0);
      pack const first = low - last;
      return fma(last * last, u1, first * first * u0);
    } else {
      pack const u2 = at(2);
      if constexpr (Power == 1) return fma(fnma(f, scale, low), u0 - u1, fma(last, u2 - u1, u1));
      pack const first = fnma(f, scale, B::constant(1)), middle = low - first - last;
      return fma(first * first, u0, fma(middle * middle, u1, last * last * u2));
    }
  }

 private:
  float scale_ = 0, low_ = 0, high_ = 0;
};

/// Iterates over packs of destinations, with the weights of short_weights, or for any step.
/// The position error of destination k is below (k + 1) 2^-32 cells.
template <class B, resample_form Form, int Power> class lane_resampler {
  using I = typename B::index_backend;
  using pack = typename B::pack;

 public:
  MBIRK_INLINE lane_resampler(lane_line const& line, std::int32_t cells) : cells_(cells) {
    if constexpr (Form == resample_form::general) {
      exact_ = line.exact;
      scale_ = line.scale;
      taps_ = static_cast<int>(std::ceil(min(exact_.step, static_cast<double>(cells + 2)))) + 1;
    } else {
      static_assert(warp_lanes == 1 << 5);
      position_ = line.fixed.start + ((B::element(B::iota()) * line.fixed.advance) >> 5);
      advance_ = line.fixed.advance;
      weights_ = short_weights<B, Form, Power>(line.scale);
    }
  }

  /// Computes the first packs of destinations. source(cell) returns the value of a source cell for each lane.
  template <class Packs, class Source>
  MBIRK_INLINE void run(Packs packs, pack (&value)[Packs::max_value], Source const& source) {
    if constexpr (Form == resample_form::general) {
      packs.each([&](auto i) MBIRK_FLAT { value[i] = B::constant(0); });
      for (int n = 0; n < packs; ++n) {  // not unrolled, because it is long and rarely used
        pack const next = next_general(source);
        packs.each([&](auto i) MBIRK_FLAT { value[i] = i == n ? next : value[i]; });
      }
    } else {
      packs.each([&](auto i) MBIRK_FLAT { value[i] = next_short(source); });
    }
  }

 private:
  /// Value of a source cell; 0 outside the source, where a lane loads the nearest cell.
  template <class Source> MBIRK_INLINE pack at(std::int32_t cell, Source const& source) const {
    pack const value = source(B::broadcast(max(min(cell, cells_ - 1), 0)));
    return static_cast<std::uint32_t>(cell) < static_cast<std::uint32_t>(cells_) ? value : B::constant(0);
  }

  template <class Source> MBIRK_INLINE pack next_short(Source const& source) {
    auto const [fraction, first] = mbirk::detail::halves_of(position_);
    pack const f = B::to_pack_unsigned(B::broadcast(fraction));  // times 2^32
    position_ += advance_;
    return weights_.sum(f, [&, cell = first](int k) MBIRK_FLAT { return at(cell + k, source); });
  }

  /// Any step, in double. Intervals are cut off one cell beyond the source, because next to the X-ray source one may
  /// cover millions.
  template <class Source> MBIRK_INLINE pack next_general(Source const& source) {
    using wide = typename I::wide;
    wide const k = I::to_wide(I::iota()) + I::broadcast(static_cast<double>(done_));
    done_ += B::lanes;
    wide const step = I::broadcast(exact_.step), left = fma(k, step, I::broadcast(exact_.start)),
        e = max(left, I::broadcast(-1.0));
    wide const end = I::broadcast(static_cast<double>(cells_)),
        width = max(min(left + step, end + I::broadcast(1.0)) - e, I::broadcast(0.0));
    wide const cell = floor(e), f = e - cell;
    std::int32_t const first = I::element(I::to_ints(min(cell, end)));
    pack sum = B::constant(0);
    for (int t = 0; t < taps_; ++t) {
      auto const w = I::to_pack(definition::overlap_tap(f, width, I::broadcast(static_cast<double>(t))));
      sum = fma(Power == 1 ? w : w * w, at(first + t, source), sum);
    }
    return Power == 1 ? sum * B::broadcast(scale_) : sum;
  }

  std::int32_t cells_;
  std::int64_t position_ = 0, advance_ = 0;
  float scale_ = 0;
  short_weights<B, Form, Power> weights_;
  lane_line::reals exact_ = {};
  int taps_ = 0, done_ = 0;
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
