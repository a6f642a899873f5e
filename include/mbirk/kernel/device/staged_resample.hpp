// Vertical resampling of the cone kernels on a device in two steps: the lanes of a warp compute the source cells that
// their intervals can meet, one cell per lane, and put them into shared memory; then each lane takes the two or three
// cells of its interval from there. Forms and weights are those of lane_resampler.
#pragma once

#include "mbirk/core/bits.hpp"
#include "mbirk/kernel/device/lane_resample.hpp"
#include "mbirk/simd/vector.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Most cells that the intervals of a warp can meet, for up to `Packs` packs of destinations, in whole packs: a short
/// form has steps of at most two, begins within a cell and takes at most three of them.
template <int Packs> inline constexpr int staged_cells = (2 * Packs + 1) * warp_lanes;

/// Packs of source cells that are staged for so many packs of destinations: one more, and more than that only for steps
/// above one; none for lines of the general form.
MBIRK_INLINE int staged_packs(lane_line const& line, int packs) {
  if (line.form == resample_form::general) return 0;
  if (line.form == resample_form::two_tap) return packs + 1;
  // The last cell after the first, for the largest fraction at which an interval can begin.
  auto const last = static_cast<int>(((0xffffffff + packs * line.fixed.advance) >> 32) + 2);
  return max(packs, last / warp_lanes) + 1;
}
/// Whether cells are staged, and the source has all of them.
MBIRK_INLINE bool all_cells_exist(lane_line const& line, int packs, std::int32_t cells) {
  if (line.form == resample_form::general) return false;
  auto const first = static_cast<std::int32_t>(line.fixed.start >> 32);
  return first >= 0 && first + staged_packs(line, packs) * warp_lanes <= cells;
}

/// Source cells of one line, in elements `base` .. base + staged_cells - 1 of a tile of shared memory.
template <class B> class staged_line {
  using I = typename B::index_backend;

 public:
  /// Not for lines of the general form.
  MBIRK_INLINE staged_line(lane_line const& line, int base)
      : first_(static_cast<std::int32_t>(line.fixed.start >> 32)), base_(base) {}

  /// Computes `count` packs of source cells: staged_packs of the packs of destinations. source(cell, exists): value of
  /// a cell for each lane, 0 for one that does not exist. Inside: all_cells_exist, so that none is tested.
  /// @param cells  number of cells of the source
  template <bool Inside, class Packs, class Tile, class Source>
  MBIRK_INLINE void stage(Packs packs, int count, Tile& staged, std::int32_t cells, Source const& source) const {
    std::int32_t const lane = I::element(I::iota()), own = first_ + lane;
    if constexpr (Inside) {
      each_pack(packs, count, [&](int n) MBIRK_FLAT {
        staged(base_ + lane + n * B::lanes) = I::element(source(I::broadcast(own + n * B::lanes), true));
      });
    } else {
      each_pack(packs, count, [&](int n) MBIRK_FLAT {
        std::int32_t const cell = own + n * B::lanes;
        bool const exists = static_cast<std::uint32_t>(cell) < static_cast<std::uint32_t>(cells);
        staged(base_ + lane + n * B::lanes) = I::element(source(I::broadcast(cell), exists));
      });
    }
  }

 private:
  /// Calls f(n) for the packs that are staged.
  template <class Packs, class F> static MBIRK_INLINE void each_pack(Packs packs, int count, F const& f) {
    simd::static_for<Packs::max_value + 1>([&](auto n) MBIRK_FLAT {
      if (n <= packs) f(n);
    });
    MBIRK_KEEP_LOOP for (int n = packs + 1; n < count; ++n) f(n);
  }

  std::int32_t first_, base_;  // the first staged cell, and where it is
};

/// Takes packs of destinations from the staged cells of a line.
template <class B, resample_form Form, int Power> class staged_resampler {
  static_assert(Form != resample_form::general);
  using I = typename B::index_backend;
  using pack = typename B::pack;

 public:
  /// The lane's first position costs one multiplication of 32-bit words, with a 64-bit sum.
  MBIRK_INLINE staged_resampler(lane_line const& line, int base)
      : position_((std::int64_t{base} << 32) + (line.fixed.start & 0xffffffff) +
                  static_cast<std::int64_t>(std::uint64_t{static_cast<std::uint32_t>(line.fixed.advance >> 6)} *
                                            static_cast<std::uint32_t>(2 * I::element(I::iota())))),
        advance_(line.fixed.advance),
        weights_(line.scale) {
    static_assert(2 * warp_lanes == 1 << 6);
  }

  /// Computes pack n of the destinations.
  template <class Tile> MBIRK_INLINE pack at(int n, Tile& staged) const {
    return sum(n, [&](std::int32_t cell) MBIRK_FLAT { return B::broadcast(static_cast<float>(staged(cell))); });
  }
  /// Computes pack n of the destinations for a source that is 1 everywhere.
  MBIRK_INLINE pack of_ones(int n) const {
    return sum(n, [](std::int32_t) MBIRK_FLAT { return B::constant(1); });
  }

 private:
  template <class Source> MBIRK_INLINE pack sum(int n, Source const& source) const {
    std::int64_t const position = position_ + n * advance_;
    auto const [fraction, cell] = mbirk::detail::halves_of(position);
    pack const f = B::to_pack_unsigned(B::broadcast(fraction));  // times 2^32
    return weights_.sum(f, [&, at = cell](int k) MBIRK_FLAT { return source(at + k); });
  }

  std::int64_t position_, advance_;  // in the tile
  short_weights<B, Form, Power> weights_;
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
