// Cylinders of lists: put in the order of a plan to be projected; summed in scratch or in parts, and put where they belong.
#pragma once

#include "mbirk/core/device_span.hpp"
#include "mbirk/kernel/shared/layout.hpp"
#include "mbirk/kernel/shared/plan.hpp"
#include "mbirk/simd/lanes.hpp"

MBIRK_KERNELS_BEGIN

namespace mbirk::kernel {

/// Puts cylinders in the order of their plan, padded with zeros. A task is a group.
template <class B> struct place_cylinders {
  using G = typename B::geometry;
  typename B::template cursor<float const> from;       // (pixels, rows) in the order of the list
  typename B::template cursor<float> to;               // (pixels, chunks * width)
  typename G::template cursor<index_t const> offsets;  // in `from`
  chunked_shape shape;
  list<pixel_group> groups;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const& group = groups[task];
    index_t const length = shape.chunks * shape.width;
    for (index_t p = group.first; p < group.first + group.count; ++p)
      copy_padded<B>(from + G::load_value(offsets + p), shape.rows, to + p * length, length);
    B::note_lanes(group.count * shape.rows, group.count * length);
  }
};

/// How a cylinder of `slices` voxels is summed: padded to whole packs; mirrored: it is exactly two halves, the upper one reversed.
struct cylinder_shape {
  index_t slices = 0, padded = 0;
  bool mirrored = false;
  MBIRK_HD index_t half() const noexcept { return mirrored ? padded / 2 : padded; }
};

/// Puts such a cylinder where it belongs. at(k): its pack that begins at k.
template <class B, class At> MBIRK_INLINE void put_cylinder(cylinder_shape const& shape, At const& at, typename B::template cursor<float> to) noexcept {
  index_t const half = shape.half();
  for (index_t k = 0; k < least(half, shape.slices); k += B::lanes) store_lanes<B>(to + k, at(k), lanes_at<B>(k, shape.slices));
  if (shape.mirrored)
    for (index_t k = 0; k < half; k += B::lanes) B::store(to + (shape.slices - B::lanes - k), reversed<B>(at(half + k)));
}

/// Cylinders as sums of parts, in the order of the tasks that made them. A task is a group.
template <class B> struct add_parts {
  using G = typename B::geometry;
  typename B::template cursor<float const> parts;  // (count, pixels, padded)
  typename B::template cursor<float> cylinders;
  typename G::template cursor<index_t const> offsets;
  index_t count, pixels;
  cylinder_shape shape;
  list<pixel_group> groups;

  MBIRK_HD void operator()(index_t task) const noexcept {
    auto const& group = groups[task];
    for (index_t p = group.first; p < group.first + group.count; ++p) {
      auto const total = [&](index_t k) MBIRK_FLAT {
        auto sum = B::load(parts + (p * shape.padded + k));
        for (index_t t = 1; t < count; ++t) sum = sum + B::load(parts + ((t * pixels + p) * shape.padded + k));
        return sum;
      };
      put_cylinder<B>(shape, total, cylinders + G::load_value(offsets + p));
    }
    B::note_lanes(group.count * shape.slices, group.count * shape.padded);
  }
};

}  // namespace mbirk::kernel

MBIRK_KERNELS_END
