// Vertical resampling of the cone kernels on a device in two steps: the lanes of a warp compute the source cells that
// their intervals can meet, one cell per lane, and put them into shared memory; then each lane takes the two or three
// cells of its interval from there. Forms and weights are those of lane_resampler.
#pragma once

#include "mbirk/kernel/device/lane_resample.hpp"
#include "mbirk/simd/vector.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Most cells that the intervals of a warp can meet, for up to `Packs` packs of destinations, in whole packs: a short
/// form has steps of at most two, begins within a cell and takes at most three of them.
template <int Packs> inline constexpr int staged_cells = (2 * Packs + 1) * warp_lanes;

/// Source cells of one line, in elements `base` .. base + staged_cells - 1 of a tile of shared memory.
template <class B> class staged_line {
  using I = typename B::index_backend;

 public:
  /// Not for lines of the general form.
  MBIRK_INLINE staged_line(lane_line const& line, int base)
      : first_(static_cast<std::int32_t>(line.fixed.start >> 32)), base_(base), advance_(line.fixed.advance) {}

  /// Computes the source cells for so many packs of destinations. source(cell, exists): value of a cell for each lane,
  /// 0 for one that does not exist. cells: those of the source.
  template <class Packs, class Tile, class Source>
  MBIRK_INLINE void stage(Packs packs, Tile& staged, std::int32_t cells, Source const& source) const {
    std::int32_t const lane = I::element(I::iota()), own = first_ + lane;
    auto const put = [&](int n) MBIRK_FLAT {
      std::int32_t const cell = own + n * B::lanes;
      bool const exists = static_cast<std::uint32_t>(cell) < static_cast<std::uint32_t>(cells);
      staged(base_ + lane + n * B::lanes) = I::element(source(I::broadcast(cell), exists));
    };
    auto const last = static_cast<std::int32_t>(((0xffffffff + packs * advance_) >> 32) + 2);
    simd::static_for<Packs::max_value + 1>([&](auto n) MBIRK_FLAT {
      if (n <= packs) put(n);
    });
    MBIRK_KEEP_LOOP for (int n = packs + 1; n * B::lanes <= last; ++n) put(n);
  }

 protected:
  std::int32_t first_, base_;  // the first staged cell, and where it is
  std::int64_t advance_;
};

/// Power 1 gives means; power 2 gives sums of squared overlaps times the source.
template <class B, resample_form Form, int Power> class staged_resampler : public staged_line<B> {
  static_assert(Form != resample_form::general);
  using I = typename B::index_backend;
  using pack = typename B::pack;

 public:
  MBIRK_INLINE staged_resampler(lane_line const& line, int base) : staged_line<B>(line, base) {
    static_assert(warp_lanes == 1 << 5);
    position_ = (std::int64_t{base} << 32) + (line.fixed.start & 0xffffffff) +
        ((I::element(I::iota()) * line.fixed.advance) >> 5);
    constexpr float apart = Form == resample_form::three_tap ? 2 : 1;
    scale_ = Power == 1 ? line.scale * 0x1p-32f : 0x1p-32f;
    low_ = line.scale;
    high_ = Power == 1 ? 1 - apart * line.scale : line.scale - apart;
  }

  /// Computes the next pack of destinations.
  template <class Tile> MBIRK_INLINE pack next(Tile& staged) {
    auto const k = static_cast<std::int32_t>(position_ >> 32);
    pack const f = B::to_pack_unsigned(B::broadcast(static_cast<std::int32_t>(position_)));  // times 2^32
    position_ += this->advance_;
    pack const scale = B::broadcast(scale_), low = B::broadcast(low_),
        last = max(fma(f, scale, B::broadcast(high_)), B::constant(0));
    pack const u0 = B::broadcast(static_cast<float>(staged(k))), u1 = B::broadcast(static_cast<float>(staged(k + 1)));
    if constexpr (Form == resample_form::two_tap) {
      if constexpr (Power == 1) return fma(last, u1 - u0, u0);
      pack const first = low - last;
      return fma(last * last, u1, first * first * u0);
    } else {
      pack const u2 = B::broadcast(static_cast<float>(staged(k + 2)));
      if constexpr (Power == 1) return fma(fnma(f, scale, low), u0 - u1, fma(last, u2 - u1, u1));
      pack const first = fnma(f, scale, B::constant(1)), middle = low - first - last;
      return fma(first * first, u0, fma(middle * middle, u1, last * last * u2));
    }
  }

 private:
  std::int64_t position_;  // in the tile
  float scale_, low_, high_;
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
