// Vertical resampling of the kernels of multi-axis parallel beam on a device: the short forms of lane_resampler where
// footprints tile the column, else taps gathered by every lane.
#pragma once

#include "mbirk/kernel/device/lane_resample.hpp"
#include "mbirk/kernel/shared/multiaxis_taps.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Form of the resampling in a pass; general if the footprints overlap.
template <bool TowardsRows>
MBIRK_INLINE resample_form multiaxis_form(multiaxis_taps const& pass) noexcept {
  return pass.tiles ? form_of(TowardsRows ? 1 / pass.step : pass.step, 2) : resample_form::general;
}
/// Resampling of the column of a pixel, whose slice 0 begins at `edge`, from destination `from` on.
template <bool TowardsRows, int Power>
MBIRK_INLINE lane_line multiaxis_lane_line(multiaxis_taps const& pass, double edge, index_t from) noexcept {
  double const step = TowardsRows ? 1 / pass.step : pass.step, first = static_cast<double>(from);
  double const start = TowardsRows ? (first - edge) * step : edge + first * step;
  return make_line(start, step, static_cast<float>(Power == 1 ? 1 / step : step));
}

/// Sums over the taps of the first packs of destinations, from `from` on. source(cell) returns the value of a source
/// cell for each lane.
template <class B, int Power, bool TowardsRows, class Packs, class Source>
MBIRK_INLINE void gather_lanes(Packs packs, gathered_taps const& taps, index_t from,
                               typename B::pack (&value)[Packs::max_value], Source const& source) {
  using I = typename B::index_backend;
  using pack = typename B::pack;
  packs.each([&](auto i) MBIRK_FLAT { value[i] = B::constant(0); });
  for (int n = 0; n < packs; ++n) {  // not unrolled, because it is long and rarely used
    pack sum = B::constant(0);
    auto const d = I::to_wide(I::iota()) + I::broadcast(static_cast<double>(from + n * B::lanes));
    taps.template each<I, TowardsRows>(d, [&](typename I::ints cell, typename I::wide overlap) MBIRK_FLAT {
      auto const w = I::to_pack(overlap);
      std::int32_t const at = I::element(cell), last = static_cast<std::int32_t>(taps.cells) - 1;
      pack const there = source(B::broadcast(max(min(at, last), 0)));
      sum = fma(Power == 1 ? w : w * w, at >= 0 && at <= last ? there : B::constant(0), sum);
    });
    packs.each([&](auto i) MBIRK_FLAT { value[i] = i == n ? sum : value[i]; });
  }
}

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
