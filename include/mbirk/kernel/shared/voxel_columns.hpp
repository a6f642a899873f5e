// Voxel columns of lists: put in the order of a plan to be projected; summed in scratch or in parts, and put where they belong.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Puts voxel columns in the order of their plan, padded with zeros. A task is a group.
template <class B> struct pack_columns {
  using I = typename B::index_backend;
  typename B::template cursor<float const> from;       // (pixels, rows) in the order of the list
  typename B::template cursor<float> to;               // (pixels, chunks * width)
  typename I::template cursor<index_t const> offsets;  // in `from`
  chunked_shape shape;
  device_span<pixel_group> groups;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const& group = groups[task];
    index_t const length = shape.chunks * shape.width;
    for (index_t p = group.first; p < group.first + group.count; ++p)
      copy_padded<B>(from + I::load_value(offsets + p), shape.rows, to + p * length, length);
    B::note_lanes(group.count * shape.rows, group.count * length);
  }
};

/// How a voxel column of `slices` voxels is summed: padded to whole packs; mirrored: it is exactly two halves, the upper one reversed.
struct voxel_column_shape {
  index_t slices = 0, padded = 0;
  bool mirrored = false;
  MBIRK_HD index_t half() const noexcept { return mirrored ? padded / 2 : padded; }
};

/// Puts such a voxel column where it belongs. at(k): its pack that begins at k.
template <class B, class At> MBIRK_INLINE void store_voxel_column(voxel_column_shape const& shape, At const& at, typename B::template cursor<float> to) noexcept {
  index_t const half = shape.half();
  for (index_t k = 0; k < min(half, shape.slices); k += B::lanes) store_lanes<B>(to + k, at(k), valid_lanes<B>(k, shape.slices));
  if (shape.mirrored)
    for (index_t k = 0; k < half; k += B::lanes) B::store(to + (shape.slices - B::lanes - k), reversed<B>(at(half + k)));
}

/// Voxel columns as sums of parts, in the order of the tasks that made them. A task is a group.
template <class B> struct reduce_partials {
  using I = typename B::index_backend;
  typename B::template cursor<float const> parts;  // (count, pixels, padded)
  typename B::template cursor<float> voxel_columns;
  typename I::template cursor<index_t const> offsets;
  index_t count, pixels;
  voxel_column_shape shape;
  device_span<pixel_group> groups;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const& group = groups[task];
    for (index_t p = group.first; p < group.first + group.count; ++p) {
      auto const total = [&](index_t k) MBIRK_FLAT {
        auto sum = B::load(parts + (p * shape.padded + k));
        for (index_t t = 1; t < count; ++t) sum = sum + B::load(parts + ((t * pixels + p) * shape.padded + k));
        return sum;
      };
      store_voxel_column<B>(shape, total, voxel_columns + I::load_value(offsets + p));
    }
    B::note_lanes(group.count * shape.slices, group.count * shape.padded);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
