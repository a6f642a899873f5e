// Voxel columns of listed pixels: packing into plan order for a projection; summation of partial sums, and unpacking.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Copies voxel columns into plan order, padded with zeros. A task is a group.
template <class B> struct pack_columns {
  using I = typename B::index_backend;
  typename B::template cursor<float const> from;       // (pixels, rows) in list order
  typename B::template cursor<float> to;               // (pixels, chunks * width)
  typename I::template cursor<index_t const> offsets;  // into `from`
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

/// Shape of a voxel column of sums for `slices` voxels, padded to whole packs. mirrored: the column is exactly two
/// halves, the upper one in reverse order.
struct voxel_column_shape {
  index_t slices = 0, padded = 0;
  bool mirrored = false;
  MBIRK_HD index_t half() const noexcept { return mirrored ? padded / 2 : padded; }
};

/// Stores such a column in slice order at `to`. at(k) is its pack that begins at element k.
template <class B, class At>
MBIRK_INLINE void store_voxel_column(voxel_column_shape const& shape, At const& at,
                                     typename B::template cursor<float> to) noexcept {
  index_t const half = shape.half();
  for (index_t k = 0; k < min(half, shape.slices); k += B::lanes)
    store_lanes<B>(to + k, at(k), valid_lanes<B>(k, shape.slices));
  if (shape.mirrored)
    for (index_t k = 0; k < half; k += B::lanes)
      B::store(to + (shape.slices - B::lanes - k), reversed<B>(at(half + k)));
}

/// Copies a column in slice order from `from` to such a column at `to`, padded with zeros: the inverse of
/// store_voxel_column.
template <class B>
MBIRK_INLINE void load_voxel_column(voxel_column_shape const& shape, typename B::template cursor<float const> from,
                                    typename B::template cursor<float> to) noexcept {
  index_t const half = shape.half();
  copy_padded<B>(from, shape.mirrored ? half : shape.slices, to, half);
  if (shape.mirrored)
    for (index_t k = 0; k < half; k += B::lanes)
      B::store(to + (half + k), reversed<B>(B::load(from + (shape.slices - B::lanes - k))));
}

/// Sums partial voxel columns in the order of the tasks that computed them. A task is a group.
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
