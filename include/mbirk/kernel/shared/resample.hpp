// The vertical step of the cone projector in SIMD, both directions: means of a sequence over equal intervals.
//
// Source u has unit cells; destination cell k is the interval [start + s k, start + s (k + 1)). With l = floor(start + s k) and fraction f
//   s <= 1      mean = u_l + w (u_{l+1} - u_l),                                   w  = max((f + s - 1)/s, 0)
//   1 < s <= 2  mean = u_{l+1} + w0 (u_l - u_{l+1}) + w2 (u_{l+2} - u_{l+1}),     w0 = (1 - f)/s, w2 = max((f + s - 2)/s, 0)
// Positions are fixed point, so one pack needs an add, a rotate and a convert for its fractions, and lookups in two registers for its values.
// Weights are those of definition/footprint.hpp over s; a test holds them together.
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

/// The widest step whose pack of destinations finds its sources in two registers: floor(1 + s (L - 1)) + 2 < 2 L.
template <class B> inline constexpr double widest_step = mbirk::min(2.0, (2.0 * B::lanes - 3) / (B::lanes - 1));

/// Below it the fractions of the short forms have too few bits (rows thousands of voxels tall).
inline constexpr double narrowest_step = 1.0 / 1024;

template <class B> MBIRK_HD constexpr resample_form form_of(double step) noexcept {
  return step < narrowest_step ? resample_form::general : step <= 1 ? resample_form::two_tap : step <= widest_step<B> ? resample_form::three_tap : resample_form::general;
}

/// f(form) with the form as a constant.
template <class F> MBIRK_INLINE void with_form(resample_form form, F const& f) {
  switch (form) {
    case resample_form::two_tap: return f(std::integral_constant<resample_form, resample_form::two_tap>{});
    case resample_form::three_tap: return f(std::integral_constant<resample_form, resample_form::three_tap>{});
    case resample_form::general: return f(std::integral_constant<resample_form, resample_form::general>{});
  }
}

/// Zeros that a source needs on either side.
template <class B> inline constexpr index_t resample_guard = 2 * B::lanes;

/// Destination packs [first, end), of `packs` from 0 on, that reach source cells; all others are 0. Ends are to be cut to whole numbers. Float will do: they
/// are wider by more than its errors, which short forms bear in their guards. start: the left edge of destination cell 0, in cells of the source.
template <class T> struct reached_packs { T first, end; };
template <class T> MBIRK_INLINE reached_packs<T> reach_of(T start, T inverse_step, float cells, T packs, int lanes) noexcept {
  using definition::abs, definition::max, definition::min;
  T const zero(0.0f), per_pack = inverse_step * T(static_cast<float>(1.0 / lanes)), from = (zero - start) * per_pack, to = from + T(cells) * per_pack;
  T const margin = T(0x1p-10f) + abs(from) * T(0x1p-20f);
  return {min(max(from - margin, zero), packs), min(max(to + margin + T(1.0f), zero), packs)};
}

/// A start and a step, in cells of the source, in the numbers that a walk over destination packs needs.
template <class T> struct resample_state {
  T position, advance;  ///< the start, and the step of a pack, in 2^-32 cells
  T lane_words;         ///< the step of a lane in the words of its positions; to be cut to a whole number. Only of the short forms
};
template <class B> struct resample_scale {
  static constexpr int index_bits = std::bit_width(2u * B::lanes) - 1;
  static constexpr double one = 4294967296.0, pack = one * B::lanes, word = one / (1 << index_bits);
};
template <class B, class T> MBIRK_INLINE resample_state<T> resample_state_of(T start, T step) noexcept {
  using definition::min;
  using scale = resample_scale<B>;
  return {start * T(scale::one), step * T(scale::pack), min(step, T(2.0)) * T(scale::word)};
}
template <class B> MBIRK_INLINE double step_of(double advance) noexcept { return advance * (1 / resample_scale<B>::pack); }

/// Walks over the destination packs of one pixel. Power 1 gives means; power 2 sums of squared overlaps times the source. Ones: the source is 1 in all
/// its cells, so where a pack does not reach beyond them there is nothing to look up.
template <class B, resample_form Form, int Power, bool Ones = false> class resampler {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  using ints = typename B::ints;
  using scale = resample_scale<B>;

 public:
  /// @param u        at cell 0 of `cells` cells with zeros around them
  /// @param inverse  1/step
  /// @param first    the pack of destinations to begin with
  MBIRK_INLINE resampler(typename B::template cursor<float const> u, index_t cells, double position, double advance, std::int32_t lane_words, pack inverse,
                         index_t first) noexcept
      : u_(u), cells_(cells) {
    if constexpr (Form == resample_form::general) {
      start_ = position * (1 / scale::one), step_ = step_of<B>(advance);
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

  /// Destination cells n lanes .. (n + 1) lanes - 1 for n = first, first + 1, ... in turn, all of them in reach.
  MBIRK_INLINE pack next() noexcept {
    pack value[1];
    next(value, 0);
    return value[0];
  }
  /// The same of N sequences with positions and weights found once. They lie `apart` elements from each other.
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
    pack const f = B::to_pack_unsigned(word);  // times 2^32; the index in the low bits is noise of 2^-27
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
        simd::static_for<N>([&](auto n) MBIRK_FLAT { value[n] = sum; });
        return;
      }
    }
    if constexpr (Form == resample_form::two_tap) {  // a pack of destinations begins in one pack of sources
      pack const w1 = max(fma(f, scale_, high_), B::constant(0));
      pack const w0 = Power == 1 ? w1 : low_ - w1, square1 = Power == 1 ? w1 : w1 * w1, square0 = Power == 1 ? w1 : w0 * w0;
      simd::static_for<N>([&](auto n) MBIRK_FLAT {
        auto const u = u_ + (base + n * apart);
        pack const u0 = lookup(B::load(u), word), u1 = lookup(B::load(u + 1), word);
        value[n] = Power == 1 ? fma(w1, u1 - u0, u0) : fma(square1, u1, square0 * u0);
      });
    } else {
      ints const second = word + B::broadcast(1), third = word + B::broadcast(2);
      pack const w2 = max(fma(f, scale_, high_), B::constant(0)), w0 = fnma(f, scale_, Power == 1 ? low_ : B::constant(1));
      if constexpr (Power == 1) {
        simd::static_for<N>([&](auto n) MBIRK_FLAT {
          auto const [u0, u1, u2] = look(u_ + (base + n * apart), word, second, third);
          value[n] = fma(w0, u0 - u1, fma(w2, u2 - u1, u1));
        });
      } else {
        pack const w1 = low_ - w0 - w2, square0 = w0 * w0, square1 = w1 * w1, square2 = w2 * w2;
        simd::static_for<N>([&](auto n) MBIRK_FLAT {
          auto const [u0, u1, u2] = look(u_ + (base + n * apart), word, second, third);
          value[n] = fma(square0, u0, fma(square1, u1, square2 * u2));
        });
      }
    }
  }
  struct three_values { pack first, second, third; };
  MBIRK_INLINE static three_values look(typename B::template cursor<float const> u, ints first, ints second, ints third) noexcept {
    pack const near = B::load(u), far = B::load(u + B::lanes);
    return {lookup2(near, far, first), lookup2(near, far, second), lookup2(near, far, third)};
  }

  /// Any step: taps by gather, weights in double. Rare (rows much taller than voxels, or the other way round), so it may be slow. An interval ends
  /// one cell beyond the source sequence: next to the X-ray source it may cover millions.
  template <int N> MBIRK_INLINE void next_general(pack (&value)[N], index_t apart) noexcept {
    using wide = typename I::wide;
    wide const k = I::to_wide(I::iota()) + I::broadcast(static_cast<double>(done_));
    done_ += B::lanes;
    wide const step = I::broadcast(step_), left = fma(k, step, I::broadcast(start_)), e = max(left, I::broadcast(-1.0));
    wide const width = max(min(left + step, I::broadcast(static_cast<double>(cells_ + 1))) - e, I::broadcast(0.0));
    wide const cell = floor(e), f = e - cell;
    simd::static_for<N>([&](auto n) MBIRK_FLAT { value[n] = B::constant(0); });
    for (int t = 0; t < taps_; ++t) {
      wide const at = max(min(cell + I::broadcast(static_cast<double>(t)), I::broadcast(static_cast<double>(cells_))), I::broadcast(-1.0));
      auto const tap = I::to_pack(definition::overlap_tap(f, width, I::broadcast(static_cast<double>(t))));
      pack const w = B::lift(Power == 1 ? tap : tap * tap);
      auto const index = I::to_ints(at);
      simd::static_for<N>([&](auto n) MBIRK_FLAT { value[n] = fma(w, B::gather(u_ + n * apart, index), value[n]); });
    }
    if constexpr (Power == 1) simd::static_for<N>([&](auto n) MBIRK_FLAT { value[n] = value[n] * low_; });
  }

  typename B::template cursor<float const> u_;
  index_t cells_;
  double start_ = 0, step_ = 0;  // of the form any
  std::int64_t position_ = 0, advance_ = 0;
  index_t done_ = 0;
  int taps_ = 0;
  ints lane_words_;
  pack scale_, low_, high_;
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
