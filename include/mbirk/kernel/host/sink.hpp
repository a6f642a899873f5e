// What a forward projection does with the views that a task has summed, while they are still in the cache: leave them where they are, measure
// them for a line search, or take them from the error sinogram. A view block is channel-major, guards included (layout.hpp); what landed in the
// guards or beyond the last row missed the detector and never counts.
#pragma once

#include "mbirk/kernel/host/lanes.hpp"
#include "mbirk/kernel/host/layout.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Of a pass over the samples of a view block with `used` rows.
template <class B> MBIRK_INLINE void note_samples(chunked_shape const& shape, index_t used) {
  B::note_lanes(shape.channels * used, shape.channels * shape.width);
}
/// f(offset in the view block, r) for every pack of samples of the detector; rows from r on.
template <class B, class F> MBIRK_INLINE void each_sample_pack(chunked_shape const& shape, index_t used, F const& f) {
  for (index_t n = guard_channels; n < guard_channels + shape.channels; ++n)
    for (index_t r = 0; r < shape.width; r += B::lanes) f(n * shape.width + r, r);
  note_samples<B>(shape, used);
}
/// The views stay in the sinogram that they were summed in.
template <class B> struct keep_views {
  static constexpr bool in_scratch = false;
  MBIRK_HD void begin() noexcept {}
  template <class Block> MBIRK_HD void view(Block, index_t, index_t) noexcept {}
  MBIRK_HD void end(index_t) noexcept {}
};

/// Lets a sink work on views that lie in a sinogram. A task is a view of a chunk.
template <class B, class Sink> struct each_view {
  typename B::template cursor<float> sinogram;  // channel-major
  chunked_shape shape;
  Sink sink;

  MBIRK_HD void operator()(index_t task) const noexcept {
    Sink out = sink;
    out.begin();
    out.view(sinogram + task * shape.view_size(), task / shape.views, task % shape.views);
    out.end(task);
  }
};

/// sum of w z^2 of every task, to be added in task order. Keep: the block is part of a sinogram and becomes w z there; else it is dropped.
template <class B, bool Weighted, bool Keep> struct measure_views {
  static constexpr bool in_scratch = !Keep;
  typename B::template cursor<float const> weights;  // channel-major; not used unless Weighted
  typename B::template cursor<double> partial;       // one per task
  chunked_shape shape;
  typename B::sums sum = {};

  MBIRK_HD void begin() noexcept { sum = B::no_sum(); }
  template <class Block> MBIRK_HD void view(Block block, index_t chunk, index_t view) noexcept {
    index_t const used = shape.used(chunk), at = shape.offset(chunk, view);
    for (index_t n = guard_channels; n < guard_channels + shape.channels; ++n) {
      auto row = B::constant(0);  // one channel in float, channels in double
      for (index_t r = 0; r < shape.width; r += B::lanes) {
        index_t const k = n * shape.width + r;
        auto const z = only_lanes<B>(B::load(block + k), used - r);
        auto const wz = Weighted ? z * B::load(weights + (at + k)) : z;
        row = fma(wz, z, row);
        if constexpr (Keep) B::store(block + k, wz);
      }
      sum = sum + B::widen(row);
    }
    note_samples<B>(shape, used);
  }
  MBIRK_HD void end(index_t task) noexcept { B::store_total(partial + task, sum); }
};

/// error -= step w z.
template <class B, bool Weighted> struct subtract_views {
  static constexpr bool in_scratch = true;
  typename B::template cursor<float const> weights;  // channel-major; not used unless Weighted
  typename B::template cursor<float> error;          // channel-major
  float step;
  chunked_shape shape;

  MBIRK_HD void begin() noexcept {}
  template <class Block> MBIRK_HD void view(Block block, index_t chunk, index_t view) noexcept {
    index_t const used = shape.used(chunk), at = shape.offset(chunk, view);
    auto const alpha = B::broadcast(step);
    each_sample_pack<B>(shape, used, [&](index_t k, index_t r) MBIRK_FLAT {
      auto const z = only_lanes<B>(B::load(block + k), used - r);
      auto const wz = Weighted ? z * B::load(weights + (at + k)) : z;
      B::store(error + (at + k), fnma(alpha, wz, B::load(error + (at + k))));
    });
  }
  MBIRK_HD void end(index_t) noexcept {}
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
