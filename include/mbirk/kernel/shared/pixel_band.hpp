// Passes over parts of images that several processes have computed.
#pragma once

#include <cstdint>

#include "mbirk/kernel/shared/vcd.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Pixels per task of the kernels below.
inline constexpr index_t band_batch = 64;

/// x += y. A task is a batch of voxel columns, of which there are `pixels`, each of `slices`.
template <class B> struct add_columns {
  typename B::template cursor<float> x;
  typename B::template cursor<float const> y;
  index_t slices, pixels;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const first = task * band_batch * slices, end = min(pixels, (task + 1) * band_batch) * slices;
    for (index_t k = first; k < end; k += B::lanes) {
      index_t const n = valid_lanes<B>(k, end);
      store_lanes<B>(x + k, load_lanes<B>(x + k, n) + load_lanes<B>(y + k, n), n);
    }
    B::note_lanes(end - first, round_up(end - first, B::lanes));
  }
};

/// A prior whose image begins `lead` rows before that of the rank.
template <class B, class Prior> struct band_prior {
  Prior inner;
  index_t lead, slices;

  template <class Sink> MBIRK_INLINE void operator()(index_t i, index_t j, Sink const& sink) const noexcept {
    inner(i + lead, j, sink);
  }
};

/// x += alpha d for each entry, as vcd_update. A task is a range of entries.
template <class B> struct move_columns {
  using I = typename B::index_backend;
  typename I::template cursor<std::int32_t const> pixels;  // ascending
  typename B::template cursor<float const> direction;      // (entries, slices)
  typename B::template cursor<float> recon;                // (pixels, slices)
  index_t slices;
  step_length alpha;
  device_span<entry_range> ranges;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const [first, last] = ranges[task];
    auto const step = B::broadcast(alpha.get());
    for (index_t e = first; e < last; ++e) {
      auto const x = recon + I::load_value(pixels + e) * slices;
      for (index_t k = 0; k < slices; k += B::lanes)
        move_voxels<B>(x + k, direction + (e * slices + k), step, valid_lanes<B>(k, slices));
    }
    B::note_lanes((last - first) * slices, (last - first) * round_up(slices, B::lanes));
  }
};

/// columns[n] = image[p] for the n-th listed pixel p. A task is a batch of listed pixels.
template <class B> struct take_columns {
  using I = typename B::index_backend;
  typename B::template cursor<float const> image;          // (pixels, slices)
  typename I::template cursor<std::int32_t const> listed;
  typename B::template cursor<float> columns;
  index_t slices, pixels;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const first = task * band_batch, end = min(pixels, (task + 1) * band_batch);
    for (index_t p = first; p < end; ++p) {
      auto const from = image + I::load_value(listed + p) * slices;
      for (index_t k = 0; k < slices; k += B::lanes) {
        index_t const n = valid_lanes<B>(k, slices);
        store_lanes<B>(columns + (p * slices + k), load_lanes<B>(from + k, n), n);
      }
    }
    B::note_lanes((end - first) * slices, (end - first) * round_up(slices, B::lanes));
  }
};

/// image[p - first_pixel] = factors * columns[n] for the n-th listed pixel p. A task is a batch of listed pixels.
template <class B> struct store_columns {
  using I = typename B::index_backend;
  typename B::template cursor<float const> columns;          // (pixels, slices)
  typename I::template cursor<std::int32_t const> listed;    // pixels of the whole image
  typename B::template cursor<float const> factors;          // one per slice, padded to whole packs
  typename B::template cursor<float> image;
  index_t slices, pixels, first_pixel;

  MBIRK_HD void operator()(index_t task) const noexcept {
    index_t const first = task * band_batch, end = min(pixels, (task + 1) * band_batch);
    for (index_t p = first; p < end; ++p) {
      auto const to = image + (I::load_value(listed + p) - first_pixel) * slices;
      auto const from = columns + p * slices;
      for (index_t k = 0; k < slices; k += B::lanes) {
        index_t const n = valid_lanes<B>(k, slices);
        store_lanes<B>(to + k, B::load(factors + k) * load_lanes<B>(from + k, n), n);
      }
    }
    B::note_lanes((end - first) * slices, (end - first) * round_up(slices, B::lanes));
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
