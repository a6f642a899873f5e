// Vertical resampling step of the cone projector in SIMD, for both directions: means of a sequence over equal
// intervals.
//
// The source u has unit cells; destination cell k is the interval [start + s k, start + s (k + 1)). With
// l = floor(start + s k) and the fractional part f,
// s <= 1      mean = u_l + w (u_{l+1} - u_l),                                w  = max((f + s - 1)/s, 0)
// 1 < s <= 2  mean = u_{l+1} + w0 (u_l - u_{l+1}) + w2 (u_{l+2} - u_{l+1}),  w0 = (1 - f)/s, w2 = max((f + s - 2)/s, 0)
// Positions are fixed point, so the fractions of a pack take an add, a rotate and a conversion, and its values are
// lookups in two registers. The weights are those of definition/footprint.hpp divided by s; a test compares the two.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "mbirk/definition/footprint.hpp"
#include "mbirk/simd/pack.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

enum class resample_form { two_tap, three_tap, general };

/// Largest step for which a pack of destinations finds its sources in two registers: floor(1 + s (L - 1)) + 2 < 2 L.
template <class B> inline constexpr double widest_step = mbirk::min(2.0, (2.0 * B::lanes - 3) / (B::lanes - 1));

/// Smallest step of the short forms: below it their fractions have too few bits (rows thousands of voxels tall).
inline constexpr double narrowest_step = 1.0 / 1024;

/// Whether a step takes this form; each step takes exactly one.
///
/// @param widest  largest step of the short forms, at most two
template <resample_form Form> MBIRK_HD constexpr bool has_form(double step, double widest) noexcept {
  if constexpr (Form == resample_form::two_tap) return step >= narrowest_step && step <= 1;
  else if constexpr (Form == resample_form::three_tap) return step > 1 && step <= widest;
  else return !has_form<resample_form::two_tap>(step, widest) && !has_form<resample_form::three_tap>(step, widest);
}
MBIRK_HD constexpr resample_form form_of(double step, double widest) noexcept {
  return has_form<resample_form::two_tap>(step, widest)     ? resample_form::two_tap
         : has_form<resample_form::three_tap>(step, widest) ? resample_form::three_tap
                                                            : resample_form::general;
}
template <class B> MBIRK_HD constexpr resample_form form_of(double step) noexcept {
  return form_of(step, widest_step<B>);
}

/// Calls f(form) with the form as a compile-time constant.
template <class F> MBIRK_INLINE void with_form(resample_form form, F const& f) {
  switch (form) {
    case resample_form::two_tap: return f(std::integral_constant<resample_form, resample_form::two_tap>{});
    case resample_form::three_tap: return f(std::integral_constant<resample_form, resample_form::three_tap>{});
    case resample_form::general: return f(std::integral_constant<resample_form, resample_form::general>{});
  }
}

/// Number of zeros that a source needs on either side.
template <class B> inline constexpr index_t resample_guard = 2 * B::lanes;

/// Destination packs [first, end) of [0, packs) that overlap source cells; all others are 0. The bounds must be
/// truncated to integers. Float precision suffices: the bounds are widened by more than its errors, and the short forms
/// absorb the excess in their guards. start: left edge of destination cell 0, in source cells.
template <class T> struct reached_packs { T first, end; };
template <class T>
MBIRK_INLINE reached_packs<T> reach_of(T start, T inverse_step, float cells, T packs, int lanes) noexcept {
  using definition::abs, definition::max, definition::min;
  T const zero(0.0f), per_pack = inverse_step * T(static_cast<float>(1.0 / lanes)), from = (zero - start) * per_pack,
      to = from + T(cells) * per_pack;
  T const margin = T(0x1p-10f) + abs(from) * T(0x1p-20f);
  return {min(max(from - margin, zero), packs), min(max(to + margin + T(1.0f), zero), packs)};
}

/// Start and step, in source cells, as the numbers that a resampler needs.
template <class T> struct resample_state {
  T position, advance;  ///< the start, and the step of a pack, in 2^-32 cells
  T lane_words;         ///< step of a lane in words of its position, to be truncated to an integer; short forms only
};
template <class B> struct resample_scale {
  static constexpr int index_bits = std::bit_width(2u * B::lanes) - 1;
  static constexpr double one = 4294967296.0, pack = one * B::lanes, word = one / (1 << index_bits);
};
template <class B, class T> MBIRK_INLINE resample_state<T> resample_state_of(T start, T step) noexcept {
  using definition::max, definition::min;
  using scale = resample_scale<B>;
  // If any destination is in reach, the start is within 2^30 max(1, step) cells; the limit keeps all others within
  // 64 bits, too, where the step is at most two.
  T const limit = max(T(0x1p62), step * T(0x1.fffffffffffffp61));
  return {max(min(start * T(scale::one), limit), T(0.0) - limit), step * T(scale::pack),
          min(step, T(2.0)) * T(scale::word)};
}
template <class B>
MBIRK_INLINE double step_of(double advance) noexcept { return advance * (1 / resample_scale<B>::pack); }

/// Iterates over the destination packs of one pixel. Power 1 gives means; power 2 gives sums of squared overlaps times
/// the source. Ones: the source is 1 in all its cells, so packs that do not extend beyond them need no lookup.
template <class B, resample_form Form, int Power, bool Ones = false> class resampler {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using ints = typename B::ints;
  using scale = resample_scale<B>;

 public:
  /// @param u        cell 0 of `cells` cells with zeros around them
  /// @param position, advance, lane_words  of resample_state_of, which bounds the position
  /// @param inverse  1/step
  /// @param first    index of the first destination pack
  MBIRK_INLINE resampler(typename B::template cursor<float const> u, index_t cells, double position, double advance,
                         std::int32_t lane_words, pack inverse, index_t first) noexcept
      : u_(u), cells_(cells) {
    if constexpr (Form == resample_form::general) {
      start_ = position * (1 / scale::one);
      step_ = step_of<B>(advance);
      taps_ = static_cast<int>(std::ceil(mbirk::min(step_, static_cast<double>(cells + 2)))) + 1;
      done_ = first * B::lanes;
    } else {
      advance_ = static_cast<std::int64_t>(advance);
      position_ = static_cast<std::int64_t>(position) + first * advance_;
      lane_words_ = B::iota() * B::broadcast(lane_words);
    }
    if constexpr (Power == 1) {
      scale_ = inverse * B::constant(1 / 4294967296.0);
      low_ = inverse;
      high_ = fnma(inverse, B::constant(Form == resample_form::three_tap ? 2 : 1), B::constant(1));
    } else {
      scale_ = B::constant(1 / 4294967296.0);
      double const step = step_of<B>(advance);
      low_ = B::broadcast(static_cast<float>(step));
      high_ = B::broadcast(static_cast<float>(step - (Form == resample_form::three_tap ? 2 : 1)));
    }
  }

  /// Destination cells n lanes .. (n + 1) lanes - 1 for n = first, first + 1, ... in turn; all of them must be in
  /// reach.
  MBIRK_INLINE pack next() noexcept {
    pack value[1];
    next(value, 0);
    return value[0];
  }
  /// Next pack of N sequences that lie `apart` elements from each other, with positions and weights computed once.
  template <int N> MBIRK_INLINE void next(pack (&value)[N], index_t apart) noexcept {
    if constexpr (Form == resample_form::general) next_general(value, apart);
    else next_short(value, apart);
  }

 private:
  template <int N> MBIRK_INLINE void next_short(pack (&value)[N], index_t apart) noexcept {
    index_t const base = position_ >> 32;  // from -resample_guard to cells_, because the pack is in reach
    auto const fraction = static_cast<std::uint32_t>(position_) >> scale::index_bits;
    ints const word = rotate_left(lane_words_ + B::broadcast(static_cast<std::int32_t>(fraction)), scale::index_bits);
    position_ += advance_;
    pack const f = B::to_pack_unsigned(word);  // times 2^32; the index in the low bits adds noise of 2^-27
    if constexpr (Ones && Power == 2) {
      if (base >= 0 && base + 2 * B::lanes <= cells_) {
        pack const last = max(fma(f, scale_, high_), B::constant(0));
        pack sum;
        if constexpr (Form == resample_form::two_tap) {
          pack const w0 = low_ - last;
          sum = fma(last, last, w0 * w0);
        } else {
          pack const w0 = fnma(f, scale_, B::constant(1)), w1 = low_ - w0 - last;
          sum = fma(w0, w0, fma(w1, w1, last * last));
        }
        simd::unrolled<N>([&](auto n) MBIRK_FLAT { value[n] = sum; });
        return;
      }
    }
    if constexpr (Form == resample_form::two_tap) {  // the first taps of a destination pack lie in one source pack
      pack const w1 = max(fma(f, scale_, high_), B::constant(0));
      pack const w0 = Power == 1 ? w1 : low_ - w1;
      pack const square1 = Power == 1 ? w1 : w1 * w1, square0 = Power == 1 ? w1 : w0 * w0;
      simd::unrolled<N>([&](auto n) MBIRK_FLAT {
        auto const u = u_ + (base + n * apart);
        pack const u0 = lookup(B::load(u), word), u1 = lookup(B::load(u + 1), word);
        value[n] = Power == 1 ? fma(w1, u1 - u0, u0) : fma(square1, u1, square0 * u0);
      });
    } else {
      ints const second = word + B::broadcast(1), third = word + B::broadcast(2);
      pack const w2 = max(fma(f, scale_, high_), B::constant(0)),
          w0 = fnma(f, scale_, Power == 1 ? low_ : B::constant(1));
      if constexpr (Power == 1) {
        simd::unrolled<N>([&](auto n) MBIRK_FLAT {
          auto const [u0, u1, u2] = look(u_ + (base + n * apart), word, second, third);
          value[n] = fma(w0, u0 - u1, fma(w2, u2 - u1, u1));
        });
      } else {
        pack const w1 = low_ - w0 - w2, square0 = w0 * w0, square1 = w1 * w1, square2 = w2 * w2;
        simd::unrolled<N>([&](auto n) MBIRK_FLAT {
          auto const [u0, u1, u2] = look(u_ + (base + n * apart), word, second, third);
          value[n] = fma(square0, u0, fma(square1, u1, square2 * u2));
        });
      }
    }
  }
  struct three_values { pack first, second, third; };
  MBIRK_INLINE static three_values look(typename B::template cursor<float const> u, ints first, ints second,
                                        ints third) noexcept {
    pack const near = B::load(u), far = B::load(u + B::lanes);
    return {lookup2(near, far, first), lookup2(near, far, second), lookup2(near, far, third)};
  }

  /// Any step: taps by gather, weights in double. Rarely used (rows much taller than voxels, or the reverse), so it may
  /// be slow. Intervals are cut off one cell beyond the source, because next to the X-ray source one may cover
  /// millions.
  template <int N> MBIRK_INLINE void next_general(pack (&value)[N], index_t apart) noexcept {
    using wide = typename I::wide;
    wide const k = I::to_wide(I::iota()) + I::broadcast(static_cast<double>(done_));
    done_ += B::lanes;
    wide const step = I::broadcast(step_), left = fma(k, step, I::broadcast(start_)), e = max(left, I::broadcast(-1.0));
    wide const width = max(min(left + step, I::broadcast(static_cast<double>(cells_ + 1))) - e, I::broadcast(0.0));
    wide const cell = floor(e), f = e - cell;
    simd::unrolled<N>([&](auto n) MBIRK_FLAT { value[n] = B::constant(0); });
    for (int t = 0; t < taps_; ++t) {
      wide const at = max(min(cell + I::broadcast(static_cast<double>(t)), I::broadcast(static_cast<double>(cells_))),
                          I::broadcast(-1.0));
      auto const tap = I::to_pack(definition::overlap_tap(f, width, I::broadcast(static_cast<double>(t))));
      pack const w = B::lift(Power == 1 ? tap : tap * tap);
      auto const index = I::to_ints(at);
      simd::unrolled<N>([&](auto n) MBIRK_FLAT { value[n] = fma(w, B::gather(u_ + n * apart, index), value[n]); });
    }
    if constexpr (Power == 1) simd::unrolled<N>([&](auto n) MBIRK_FLAT { value[n] = value[n] * low_; });
  }

  typename B::template cursor<float const> u_;
  index_t cells_;
  double start_ = 0, step_ = 0;  // general form only
  std::int64_t position_ = 0, advance_ = 0;
  index_t done_ = 0;
  int taps_ = 0;
  ints lane_words_;
  pack scale_, low_, high_;
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
