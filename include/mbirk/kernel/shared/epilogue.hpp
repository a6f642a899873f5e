// Epilogues of a forward projection: applied to the views that a task has summed, while they are still cached. They
// store the views, compute their squared norm for a line search, or subtract them from the error sinogram. A view block
// is channel-major, guards included (layout.hpp), and may come in parts of a few channels; samples in the guards or
// beyond the last row missed the detector and never count.
#pragma once

#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/step.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Reports the lane utilisation of a pass over the samples of a view block with `used` rows (counting only).
template <class B> MBIRK_INLINE void note_samples(chunked_shape const& shape, index_t used) {
  B::note_lanes(shape.channels * used, shape.channels * shape.width);
}
/// Calls f(offset in the view block, r) for every pack of the samples of channels [from, to), where r is its first row.
template <class B, class F>
MBIRK_INLINE void each_sample_pack(chunked_shape const& shape, index_t used, index_t from, index_t to, F const& f) {
  for (index_t n = guard_channels + from; n < guard_channels + to; ++n)
    for (index_t r = 0; r < shape.width; r += B::lanes) f(n * shape.width + r, r);
  B::note_lanes((to - from) * used, (to - from) * shape.width);
}
template <class B, class F> MBIRK_INLINE void each_sample_pack(chunked_shape const& shape, index_t used, F const& f) {
  each_sample_pack<B>(shape, used, 0, shape.channels, f);
}
/// Leaves the views in the sinogram in which they were summed.
template <class B> struct store_epilogue {
  MBIRK_HD void begin() noexcept {}
  template <class Block> MBIRK_HD void view(Block, index_t, index_t) noexcept {}
  MBIRK_HD void end(index_t) noexcept {}
};

/// Applies an epilogue to the views of a stored sinogram. A task is a view of a chunk.
template <class B, class Epilogue> struct apply_epilogue {
  typename B::template cursor<float> sinogram;  // channel-major
  chunked_shape shape;
  Epilogue epilogue;

  MBIRK_HD void operator()(index_t task) const noexcept {
    Epilogue out = epilogue;
    out.begin();
    out.view(sinogram + task * shape.view_size(), task / shape.views, task % shape.views);
    out.end(task);
  }
};

/// row + w z^2 for the pack of a projection at `z_at`, of which `valid` lanes are rows, with the weights at `w_at`.
/// Keep: stores w z in the place of z.
template <class B, bool Weighted, bool Keep, class Block>
MBIRK_INLINE typename B::pack add_squared_norm(Block z_at, typename B::template cursor<float const> weights,
                                               index_t w_at, index_t valid, typename B::pack row) noexcept {
  auto const z = masked<B>(B::load(z_at), valid);
  auto const wz = Weighted ? z * B::load(weights + w_at) : z;
  if constexpr (Keep) B::store(z_at, wz);
  return fma(wz, z, row);
}

/// Sum of w z^2 for every task, to be added in task order. Keep: the block is part of a sinogram and is overwritten
/// with w z; otherwise it is discarded.
template <class B, bool Weighted, bool Keep> struct squared_norm_epilogue {
  static constexpr bool weighted = Weighted, keeps = Keep;
  typename B::template cursor<float const> weights;  // channel-major; unused unless Weighted
  typename B::template cursor<double> partial;       // one per task
  chunked_shape shape;
  typename B::sums sum = {};

  MBIRK_HD void begin() noexcept { sum = B::no_sum(); }
  template <class Block> MBIRK_HD void view(Block block, index_t chunk, index_t view) noexcept {
    channels(block + guard_channels * shape.width, chunk, view, guard_channels, guard_channels + shape.channels);
  }
  /// Processes channels [first, end) of a view, counted from the first guard channel; `block` holds channel `first`.
  template <class Block>
  MBIRK_HD void channels(Block block, index_t chunk, index_t view, index_t first, index_t end) noexcept {
    index_t const used = shape.used(chunk), at = shape.offset(chunk, view) + first * shape.width, width = shape.width;
    auto total = sum;  // hoisted: the compiler must assume that the stores below may alias *this
    for (index_t n = 0; n < end - first; ++n) {
      auto row = B::constant(0);  // float within a channel, double across channels
      for (index_t r = 0; r < width; r += B::lanes) {
        index_t const k = n * width + r;
        row = add_squared_norm<B, Weighted, Keep>(block + k, weights, at + k, used - r, row);
      }
      total = total + B::widen(row);
    }
    sum = total;
    B::note_lanes((end - first) * used, (end - first) * shape.width);
  }
  /// Array that `channels` reads beside the block, from channel 0 of the view on, for callers that prefetch it.
  static constexpr bool has_source = Weighted;
  MBIRK_HD typename B::template cursor<float const> source(index_t chunk, index_t view) const noexcept {
    return weights + shape.offset(chunk, view);
  }
  MBIRK_HD void end(index_t task) noexcept { B::store_total(partial + task, sum); }
};

/// An epilogue whose sums are those of views instead of tasks, so that they do not depend on the views of a task.
template <class Epilogue> struct each_view_epilogue : Epilogue {
  MBIRK_HD void begin() noexcept {}
  template <class Block> MBIRK_HD void view(Block block, index_t chunk, index_t v) noexcept {
    Epilogue::begin();
    Epilogue::view(block, chunk, v);
    Epilogue::end(v);
  }
  MBIRK_HD void end(index_t) noexcept {}
};

/// error -= step w z.
template <class B, bool Weighted> struct axpy_epilogue {
  static constexpr bool weighted = Weighted;
  typename B::template cursor<float const> weights;  // channel-major; unused unless Weighted
  typename B::template cursor<float> error;          // channel-major
  step_length step;
  chunked_shape shape;

  MBIRK_HD void begin() noexcept {}
  /// Processes channels [first, end) of a view, counted from the first guard channel; `block` holds channel `first`.
  template <class Block>
  MBIRK_HD void channels(Block block, index_t chunk, index_t view, index_t first, index_t end) noexcept {
    index_t const used = shape.used(chunk), at = shape.offset(chunk, view) + first * shape.width, width = shape.width;
    auto const alpha = B::broadcast(step.get());
    for (index_t n = 0; n < end - first; ++n)
      for (index_t r = 0; r < width; r += B::lanes) {
        index_t const k = n * width + r;
        auto const z = masked<B>(B::load(block + k), used - r);
        auto const wz = Weighted ? z * B::load(weights + (at + k)) : z;
        B::store(error + (at + k), fnma(alpha, wz, B::load(error + (at + k))));
      }
    B::note_lanes((end - first) * used, (end - first) * shape.width);
  }
  static constexpr bool has_source = true;
  MBIRK_HD typename B::template cursor<float const> source(index_t chunk, index_t view) const noexcept {
    return error + shape.offset(chunk, view);
  }
  MBIRK_HD void end(index_t) noexcept {}
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
